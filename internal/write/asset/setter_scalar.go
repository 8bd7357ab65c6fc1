package asset

import (
	"context"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// setScalar sets a scalar as a change requires.
func (set *setter) setScalar(w *row, a *meta.Attr, ch *Change) error {
	if ch.Find != nil {
		return set.replaceInText(w, a, ch)
	}
	if a.Kind == meta.Blob {
		return set.setContent(w, a, ch)
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
	return set.storeScalar(w, a, v)
}

// storeScalar sets the stored value of a scalar.
// Errors: fault.Invalid if the texts of the asset get too large.
func (set *setter) storeScalar(w *row, a *meta.Attr, v any) error {
	w.set(a, v)
	if a.Place.Kind == meta.InAttrs && v != nil && w.cur.Attrs.Size() > maxColumn {
		return tooLong(a)
	}
	if _, isText := v.(string); isText && !set.s.e.layout.Fits(&w.cur.Values) {
		return tooLong(a)
	}
	if tr := set.s.e.layout.types[w.typ]; tr.username == a && w.dirty {
		name, _ := v.(string)
		set.changes.setLogin(w, &name, nil)
	}
	return nil
}

// replaceInText replaces every occurrence of an exact piece of text.
func (set *setter) replaceInText(w *row, a *meta.Attr, ch *Change) error {
	if a.Kind != meta.Text && a.Kind != meta.LongText || ch.Find.Text == "" {
		return invalid(a)
	}
	old, _ := w.get(a).(string)
	if replacedSize(old, ch.Find.Text, ch.Replace.Text) > maxColumn {
		return tooLong(a)
	}
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
	return set.storeScalar(w, a, v)
}

// replacedSize returns the size of a text in bytes after each occurrence of find is replaced. The
// new text may be much larger than the request, so its size is checked before the text is
// created.
func replacedSize(text, find, replace string) int {
	return len(text) + strings.Count(text, find)*(len(replace)-len(find))
}

// secret sets a secret. It computes the hash only if ch.Sealed does not contain it.
func (set *setter) secret(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	written, ok := ch.single()
	if a.Name == OldPassword {
		return set.oldPassword(w, a, ch)
	}
	if !ok || written.isEmpty() {
		return invalid(a)
	}
	sealed := ch.Sealed
	if sealed == "" && set.s.e.creds != nil {
		if !set.s.e.SetsPasswords(set.s.who) {
			if set.s.ownSealed++; w.id != set.s.who.Member || set.s.ownSealed > MaxOwnPasswords {
				return denied(w.typ, meta.ToChange, a.Name)
			}
		}
		var err error
		if sealed, err = set.s.e.creds.Seal(ctx, written.Text); err != nil {
			return err
		}
	}
	set.changes.setLogin(w, nil, &sealed)
	w.dirty, w.forced = true, true
	return nil
}

// oldPassword checks the value of OldPassword, the current password of the caller. Engine.Seal has
// compared the password before the transaction.
func (set *setter) oldPassword(w *row, a *meta.Attr, ch *Change) error {
	written, ok := ch.single()
	switch {
	case ok && written.isEmpty():
		return required(a)
	case !ok || w.id != set.s.who.Member || ch.Sealed != provenPassword:
		return invalid(a)
	}
	return nil
}

// setImported sets an attribute that only an import can set.
func (set *setter) setImported(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	written, ok := ch.single()
	if ch.Find != nil || !ok {
		return invalid(a)
	}
	if a.Kind == meta.Relation {
		t, null, err := set.resolver.resolve(ctx, a, written)
		switch {
		case err != nil:
			return err
		case null:
			return required(a)
		case a.Name == "CreatedBy":
			w.imported.createdBy = &t.id
		default:
			w.imported.changedBy = &t.id
		}
		return nil
	}
	date, err := set.pastDate(ctx, a, written)
	if err != nil {
		return err
	}
	at := instant(date)
	if a.Name == "CreateDate" || a.Name == "CreateDateUTC" {
		w.imported.createdAt = &at
	} else {
		w.imported.changedAt, w.imported.last = &at, a
	}
	return nil
}

// pastDate parses a date that must not be in the future. It returns UTC microseconds.
func (set *setter) pastDate(ctx context.Context, a *meta.Attr, written Value) (int64, error) {
	v, err := scalar(a, written)
	if err != nil {
		return 0, err
	}
	at, ok := v.(int64)
	if !ok {
		return 0, required(a)
	}
	at -= (at%1000 + 1000) % 1000 // whole milliseconds, because ChangeDate prints milliseconds
	now, err := set.s.clock(ctx)
	if err == nil && at > now {
		err = invalid(a)
	}
	return at, err
}
