package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// links takes back the changes of attributes with several values. It removes values before it adds
// others, because a value may have changed only its spelling.
func (u *undoer) links(ctx context.Context) error {
	changed := map[*meta.Attr]*Reverted{}
	for _, adds := range [...]bool{false, true} {
		for i := range u.past.links {
			l := &u.past.links[i]
			if l.was != adds || l.was == l.left {
				continue
			}
			if err := u.proceed(ctx); err != nil {
				return err
			}
			text, err := u.link(ctx, l)
			if err != nil {
				return err
			}
			if text == "" {
				continue
			}
			r := changed[l.attr]
			if r == nil {
				r = &Reverted{Attr: l.attr}
				changed[l.attr] = r
			}
			if adds {
				r.Added = append(r.Added, text)
			} else {
				r.Removed = append(r.Removed, text)
			}
		}
	}
	for _, a := range u.w.typ.Attrs {
		if r := changed[a]; r != nil {
			u.describe(*r)
		}
	}
	return nil
}

// link adds or removes one value. It returns the value as text, or an empty text if nothing has
// changed.
func (u *undoer) link(ctx context.Context, l *pastLink) (string, error) {
	var t *target
	var err error
	text := l.text
	if l.attr.Place.Kind != meta.InValues {
		if t, err = u.seen(ctx, l.other); err != nil || t == nil {
			u.result.Hidden++
			return "", err
		}
		text = token(t).(string)
	}
	has, err := u.has(ctx, l, t)
	switch {
	case err != nil || has == l.was:
		return "", err
	case l.broken: // has differs from was, so has is what the versions left
		u.conflict(l.attr, l.since)
		return "", nil
	case l.was:
		if gone, err := u.goneSince(ctx, t); err != nil || gone != 0 {
			u.conflict(l.attr, l.since).by = gone
			return "", err
		}
	}
	if !storedAtOtherEnd(l.attr) {
		if err := u.rules.checkSealed(ctx, u.w.typ, u.w.id, l.attr); err != nil {
			return "", err
		}
	}
	if t == nil {
		return text, u.multi(ctx, l)
	}
	if l.was {
		return text, u.set.addMember(ctx, u.w, l.attr, *t)
	}
	return text, u.set.removeMember(ctx, u.w, l.attr, *t)
}

// has reports whether an attribute has a value now.
func (u *undoer) has(ctx context.Context, l *pastLink, t *target) (bool, error) {
	if t != nil {
		return u.set.isMember(ctx, u.w, l.attr, *t)
	}
	edges, err := u.loaded.edgesFrom(ctx, u.w.typ, u.w.id, edgeCode(l.attr))
	if err != nil {
		return false, err
	}
	e := edges.value(edgeCode(l.attr), l.text)
	return e != nil && e.text == l.text, nil
}

// multi adds or removes one value of a multi-value scalar.
func (u *undoer) multi(ctx context.Context, l *pastLink) error {
	code := edgeCode(l.attr)
	edges, err := u.loaded.edgesFrom(ctx, u.w.typ, u.w.id, code)
	if err != nil {
		return err
	}
	if e := edges.value(code, l.text); e != nil {
		if l.was { // another spelling of the value was added since
			u.conflict(l.attr, l.since).by = int64(e.since)
			return nil
		}
		u.changes.endEdge(e, u.w)
		return nil
	}
	u.changes.addEdge(edges, edge{code: code, from: u.w.id, text: l.text}, u.w)
	return nil
}
