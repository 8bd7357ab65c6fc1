package asset

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

// Asset states that the engine knows by name. Spec: interface 3.
const (
	stateActive  = 64
	stateClosed  = 128
	stateDeleted = 255
)

// create makes one asset.
func (r *run) create(ctx context.Context, c *Command) Outcome {
	t, tr := c.Type, r.e.layout.types[c.Type]
	if tr == nil {
		return Outcome{Err: AbstractType(t.Name)}
	}
	w := r.changes.newRow(t, r.nextID)
	r.nextID++
	c.Self.Type, c.Self.ID = t, w.id
	out := Outcome{OID: w.oid(), about: w}
	from, err := r.resolveContext(ctx, c)
	if err == nil {
		err = r.applyChanges(ctx, w, c.Changes)
	}
	if err == nil && from.typ != nil {
		err = r.fillFromContext(ctx, w, c, from)
	}
	if err == nil {
		err = r.setDefaults(ctx, w, c)
	}
	if err == nil {
		err = r.deriveValues(ctx, w)
	}
	if err == nil {
		err = r.checkImported(ctx, w)
	}
	if err == nil {
		err = r.checkRequired(w, tr)
	}
	if err == nil && t.Secured.Self {
		err = r.addScope(ctx, w)
	}
	out.Err = err
	return out
}

// resolveContext finds the asset whose values are the defaults of a new one. One that
// the caller names has to be one that the caller sees.
func (r *run) resolveContext(ctx context.Context, c *Command) (target, error) {
	if c.Context.IsZero() {
		return target{}, nil
	}
	t, ok, err := r.resolveRef(ctx, c.Context)
	if err == nil && ok && c.Context.Handle == nil && c.Within == nil {
		ok = r.visible(t)
	}
	if err == nil && !ok {
		err = badToken(c.Context)
	}
	return t, err
}

// visible reports whether the caller may read an asset.
func (r *run) visible(t target) bool {
	if scope, ok := t.slot(r.e.layout, r.e.layout.scope).(int64); ok {
		return r.seesScope(&scope)
	}
	return true
}

// seesScope reports whether the caller may read what lies in a project: also in
// one that the request itself has made, which what is known of the caller's
// rights does not tell yet.
func (r *run) seesScope(scope *int64) bool {
	if sees(r.s.who, scope) || r.s.createdScopes[*scope] {
		return true
	}
	w := r.rows[*scope]
	return w != nil && w.isNew
}

// resolveRef finds what a Ref names, whether it was there or is made in the request.
func (r *run) resolveRef(ctx context.Context, ref Ref) (target, bool, error) {
	if ref.Handle != nil {
		if !ref.Handle.Made {
			return target{}, false, nil
		}
		return r.find(ctx, ref.Handle.ID)
	}
	if ref.OID.IsNull() {
		return target{}, false, nil
	}
	typ, ok := r.e.model.Type(ref.OID.Type)
	if !ok || typ.Virtual {
		return target{}, false, nil
	}
	t, ok, err := r.find(ctx, typ.Stored(ref.OID.ID))
	return t, ok && t.typ.IsA(typ), err
}

// update changes one asset.
func (r *run) update(ctx context.Context, c *Command) Outcome {
	w, out := r.lockTarget(ctx, c)
	if w == nil {
		return out
	}
	r.changes.touch(w)
	if out.Err = r.applyChanges(ctx, w, c.Changes); out.Err == nil {
		out.Err = r.deriveValues(ctx, w)
	}
	return out
}

// lockTarget locks the asset of an update or operation. No row comes back when
// there is nothing to do: it does not exist, or was deleted earlier in the
// request under the alias that the command names.
func (r *run) lockTarget(ctx context.Context, c *Command) (*row, Outcome) {
	t, ok, err := r.resolveRef(ctx, c.Target)
	if err == nil && !ok {
		err = badToken(c.Target)
	}
	if err != nil {
		return nil, Outcome{Err: err}
	}
	out := Outcome{OID: oid.OID{Type: t.typ.Name, ID: t.typ.Shown(t.id)}}
	if t.isDeleted() && c.Target.Handle != nil {
		out.Skipped = true
		return nil, out
	}
	if t.isDeleted() && c.Verb == Update && !c.TargetDeleted {
		out.Err = badToken(c.Target) // an earlier command of the request deleted it
		return nil, out
	}
	w, ok, err := r.lock(ctx, t.id)
	if err == nil && !ok {
		err = badToken(c.Target)
	}
	if err == nil && c.IfMoment != 0 && w.cur.moment != c.IfMoment {
		err = stale(out.OID)
	}
	out.Err, out.about = err, w
	if err != nil {
		return nil, out
	}
	return w, out
}

// applyChanges carries out the changes of a command in its order.
func (r *run) applyChanges(ctx context.Context, w *row, all []Change) error {
	for i := range all {
		ch := &all[i]
		a, ok := w.typ.Attr(ch.Name)
		if !ok {
			return unknownAttr(w.typ, ch.Name)
		}
		switch {
		case ch.Bad == ErrForm: //nolint:errorlint // the very value
			return invalid(a)
		case ch.Bad != nil:
			return ch.Bad
		}
		was := w.get(a)
		if err := r.applyChange(ctx, w, a, ch); err != nil {
			return err
		}
		if err := r.checkKept(w, a, was); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) applyChange(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	if r.canImport(w, a) {
		return r.setImported(ctx, w, a, ch)
	}
	if a.ReadOnly && !storedAtOtherEnd(a) {
		return readOnly(a)
	}
	if a.Kind == meta.Rank {
		return r.setRank(ctx, w, a, ch)
	}
	if ch.Neighbour != nil {
		return invalid(a)
	}
	switch a.Place.Kind {
	case meta.InColumn, meta.InAttrs:
		if a.Kind == meta.Relation {
			return r.toOne(ctx, w, a, ch)
		}
		return r.setScalar(w, a, ch)
	case meta.InLinks:
		if a.Multi {
			return r.toMany(ctx, w, a, ch)
		}
		return r.toOne(ctx, w, a, ch)
	case meta.InLinksBack, meta.Reverse:
		return r.toMany(ctx, w, a, ch)
	case meta.InValues:
		return r.setValues(ctx, w, a, ch)
	case meta.Secret:
		return r.secret(ctx, w, a, ch)
	}
	return readOnly(a)
}

// setScalar sets a scalar.
func (r *run) setScalar(w *row, a *meta.Attr, ch *Change) error {
	if ch.Find != nil {
		return r.replaceInText(w, a, ch)
	}
	written, ok := ch.single()
	if !ok {
		return invalid(a)
	}
	v, err := scalar(a, written)
	if err != nil {
		return err
	}
	if a.Required && (v == nil || v == "") && !w.creating() {
		return required(a)
	}
	return r.storeScalar(w, a, v)
}

func (r *run) storeScalar(w *row, a *meta.Attr, v any) error {
	w.set(a, v)
	if a.Place.Kind == meta.InAttrs && v != nil && w.cur.attrs.size() > maxColumn {
		return tooLong(a)
	}
	if _, isText := v.(string); isText && !r.e.layout.fits(w.cur) {
		return tooLong(a)
	}
	if tr := r.e.layout.types[w.typ]; tr.username == a && w.dirty {
		name, _ := v.(string)
		r.changes.logins = append(r.changes.logins, login{member: w.id, typ: w.typ.Name, username: &name})
	}
	return nil
}

// replaceInText replaces every occurrence of an exact piece of text.
func (r *run) replaceInText(w *row, a *meta.Attr, ch *Change) error {
	if a.Kind != meta.Text && a.Kind != meta.LongText || ch.Find.Text == "" {
		return invalid(a)
	}
	old, _ := w.get(a).(string)
	v, err := text(a, Value{Kind: Text, Text: strings.ReplaceAll(old, ch.Find.Text, ch.Replace.Text)})
	if err != nil {
		return err
	}
	if a.Required && v == "" {
		return required(a)
	}
	if old == "" {
		return nil
	}
	return r.storeScalar(w, a, v)
}

// setDefaults fills what a new asset does not say and the model does.
func (r *run) setDefaults(ctx context.Context, w *row, c *Command) error {
	for _, a := range r.e.layout.types[w.typ].defaults {
		if named := slices.ContainsFunc(c.Changes, func(ch Change) bool { return ch.Name == a.Name }); named || !r.isEmpty(w, a) {
			continue
		}
		if err := r.setDefault(ctx, w, a, a.Default); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) setDefault(ctx context.Context, w *row, a *meta.Attr, text string) error {
	switch {
	case text == "@caller":
		t, ok, err := r.find(ctx, r.creator(w))
		if err != nil || !ok {
			return err
		}
		return r.setRef(ctx, w, a, &t)
	case text == "@now" && w.imported.createdAt != nil:
		return r.storeScalar(w, a, *w.imported.createdAt)
	case text == "@now":
		return r.storeScalar(w, a, time.Now().UTC().Truncate(time.Millisecond).UnixMicro())
	case a.Kind == meta.Relation:
		t, null, err := r.resolve(ctx, a, Value{Kind: Text, Text: text})
		if err != nil || null {
			return err
		}
		return r.setRef(ctx, w, a, &t)
	}
	v, err := scalar(a, Value{Kind: Text, Text: text})
	if err != nil {
		return err
	}
	return r.storeScalar(w, a, v)
}

// isEmpty reports whether a stored attribute has no value; an empty text is
// none.
func (r *run) isEmpty(w *row, a *meta.Attr) bool {
	switch a.Place.Kind {
	case meta.InLinks:
		h := r.edgeSets[w.id]
		return h == nil || h.one(a.Place.Code) == nil
	case meta.InValues:
		return false
	}
	v := w.get(a)
	return v == nil || v == ""
}

func (r *run) checkRequired(w *row, tr *typeRules) error {
	for _, a := range tr.required {
		if r.isEmpty(w, a) {
			return required(a)
		}
	}
	return nil
}
