package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/names"
)

// resolver finds the assets that values and commands name.
type resolver struct {
	unit
	rules *rules
	named map[nameKey]names.Meant
}

// nameKey is a name and the space in which it is looked up.
type nameKey struct {
	in   names.Space
	name string
}

// resolve returns the asset that the value of a relation names by an Oid token, an @alias or a
// name. null is true if the value is empty or the null Oid. An asset that the caller may not see
// is not found. If the asset is deleted, or the relation does not accept its type, resolve
// returns the asset together with an error.
// Errors: fault.Invalid with the messages of the interface.
func (r *resolver) resolve(ctx context.Context, a *meta.Attr, v Value) (t target, null bool, err error) {
	if v.isEmpty() || v.Kind == Text && v.Text == oid.Null {
		return target{}, true, nil
	}
	if v.Kind != Text {
		return target{}, false, unresolved(a)
	}
	if v.isAlias() {
		return r.resolveAlias(ctx, a, v)
	}
	var ok bool
	if o, perr := oid.Parse(v.Text); perr == nil {
		t, ok, err = r.resolveRef(ctx, Ref{OID: o})
		if err == nil && t.typ != nil {
			var sees bool
			if sees, err = r.rules.visible(ctx, t); !sees {
				t, ok = target{}, false
			}
		}
		if err == nil && !ok {
			err = invalid(a)
		}
	} else if t, ok, err = r.byName(ctx, a, v.Text); err == nil && !ok {
		err = unresolved(a)
	}
	if err == nil && (!a.Takes(t.typ) || t.isDeleted()) {
		err = invalid(a)
	}
	return t, false, err
}

func (r *resolver) resolveAlias(ctx context.Context, a *meta.Attr, v Value) (target, bool, error) {
	h, ok := r.s.Alias(v.Text)
	if !ok {
		return target{}, false, oid.Invalid(v.Text)
	}
	t, ok, err := r.loaded.find(ctx, h.ID)
	if err == nil && (!ok || !a.Takes(t.typ) || t.isDeleted()) {
		err = invalid(a)
	}
	return t, false, err
}

// resolveRemoved does the same as resolve for a value that is removed from a relation. The asset
// may be deleted.
func (r *resolver) resolveRemoved(ctx context.Context, a *meta.Attr, v Value) (target, bool, error) {
	t, null, err := r.resolve(ctx, a, v)
	if err != nil && fault.KindOf(err) == fault.Invalid && t.typ != nil && a.Takes(t.typ) {
		err = nil
	}
	return t, null, err
}

// resolveRef returns the asset that a Ref names. It returns false if the asset does not exist, is
// of another type, or has not been created yet.
func (r *resolver) resolveRef(ctx context.Context, ref Ref) (target, bool, error) {
	if ref.Handle != nil {
		if !ref.Handle.Made {
			return target{}, false, nil
		}
		return r.loaded.find(ctx, ref.Handle.ID)
	}
	if ref.OID.IsNull() {
		return target{}, false, nil
	}
	typ, ok := r.s.e.model.Type(ref.OID.Type)
	if !ok {
		return target{}, false, nil
	}
	t, ok, err := r.loaded.find(ctx, typ.Stored(ref.OID.ID))
	return t, ok && t.typ.IsA(typ), err
}

// resolveContext returns the context of a new asset: the asset from which it gets defaults. It
// returns the zero target if the command has no context. If the client has named the context, the
// caller must be allowed to see it.
func (r *resolver) resolveContext(ctx context.Context, c *Command) (target, error) {
	if c.Context.IsZero() {
		return target{}, nil
	}
	t, ok, err := r.resolveRef(ctx, c.Context)
	if err == nil && ok && c.Context.Handle == nil && c.Within == nil {
		ok, err = r.rules.visible(ctx, t)
	}
	if err == nil && !ok {
		err = badToken(c.Context)
	}
	return t, err
}

// byName returns the asset that a name means as a value of the relation a. It looks up the name
// in one space after another, until it finds assets. It ignores deleted assets and assets that
// the caller may not see. It returns false if it finds no asset or several assets.
func (r *resolver) byName(ctx context.Context, a *meta.Attr, name string) (target, bool, error) {
	for _, in := range names.SpacesOf(a) {
		key := nameKey{in, name}
		meant, done := r.named[key]
		if !done {
			if err := r.lookupNames(ctx, in, []string{name}); err != nil {
				return target{}, false, err
			}
			meant = r.named[key]
		}
		switch {
		case meant.One:
			return r.loaded.find(ctx, meant.ID)
		case meant.Several:
			return target{}, false, nil
		}
	}
	db.Missed(r.s.tx)
	return target{}, false, nil
}

// lookupNames looks up names in a space and stores the results in r.named.
func (r *resolver) lookupNames(ctx context.Context, in names.Space, all []string) error {
	f := names.Finder{Tx: r.s.tx, Model: r.s.e.model, Who: r.s.Who(), Seen: r.onlySeen}
	found, err := f.Find(ctx, in, all)
	for name, meant := range found {
		r.named[nameKey{in, name}] = meant
	}
	return err
}

// onlySeen removes assets that the caller may not see, because of their project or because of the
// rule of their type (meta.Type.Seen).
func (r *resolver) onlySeen(ctx context.Context, types []*meta.Type, all []names.Hit) ([]names.Hit, error) {
	all = slices.DeleteFunc(all, func(h names.Hit) bool {
		return !r.s.who.Bounds.Reads(h.Type) || h.Type.Seen.IsZero() && h.Scope != nil && !r.rules.seesScope(h.Scope)
	})
	var ids []int64
	for _, h := range all {
		if !h.Type.Seen.IsZero() {
			ids = append(ids, h.ID)
		}
	}
	if len(ids) == 0 {
		return all, nil
	}
	if err := r.loaded.loadSeen(ctx, types, ids); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(h names.Hit) bool {
		return !h.Type.Seen.IsZero() && !r.s.createdRuled[h.ID] && !r.loaded.seen[h.ID]
	}), nil
}
