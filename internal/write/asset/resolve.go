package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// resolve returns the asset that the value of a relation names by an Oid token, an @alias or a
// name. null is true if the value is empty or the null Oid. An asset that the caller does not
// see is not found. If the asset is deleted or not of a type that the relation accepts, resolve
// returns it together with an error.
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

// resolveRef returns the asset that a Ref names. It returns false if the asset does not exist,
// is of another type, or is not made yet.
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

// resolveContext returns the asset whose values are the defaults of a new asset; the zero
// target if the command has no context. If the client names the context, the caller must see it.
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
