package meta

import (
	"slices"
	"strings"
)

// Seen says who sees the assets of a type where the SecurityScope does not, or not
// alone. The zero value: the SecurityScope decides, and what has none is seen by
// everybody.
//
//	Shared   a member is seen by itself and by whoever reads a project that it has a
//	         role in, or one below such a project.
//	Only     where one of these leads to a member, those members see the asset, and
//	         nobody else does.
//	By       these members see it in any case.
//	Through  without a SecurityScope: of the first path that leads to any asset, the
//	         caller must see one. Where none does, everybody sees the asset. One that
//	         leads to an asset of the same rule does not show it.
//
// Where a path leads is decided by all assets, seen or not.
type Seen struct {
	Shared            bool
	Only, By, Through []Walk
}

// Walk is a path of relations, from an asset of the type to others.
type Walk []*Attr

// String returns the path as the file has it.
func (w Walk) String() string {
	names := make([]string, len(w))
	for i, a := range w {
		names[i] = a.Name
	}
	return strings.Join(names, ".")
}

// IsZero reports whether the SecurityScope decides alone.
func (s *Seen) IsZero() bool {
	return !s.Shared && len(s.Only) == 0 && len(s.By) == 0 && len(s.Through) == 0
}

// Same reports whether two types have one rule, so that their assets are seen by
// the same condition.
func (s *Seen) Same(o *Seen) bool {
	same := func(a, b Walk) bool {
		return slices.EqualFunc(a, b, func(x, y *Attr) bool {
			return x.Name == y.Name && x.Place.Kind == y.Place.Kind && x.Place.Code == y.Place.Code
		})
	}
	return s.Shared == o.Shared && slices.EqualFunc(s.Only, o.Only, same) &&
		slices.EqualFunc(s.By, o.By, same) && slices.EqualFunc(s.Through, o.Through, same)
}

// seenBy reads who sees the assets of t, and refuses paths that are none.
func (l *loader) seenBy(t *Type) Seen {
	ft := l.files[t].Seen
	return Seen{
		Shared: ft.Shared, Only: l.walks(t, ft.Only, "Member"), By: l.walks(t, ft.By, "Member"),
		Through: l.walks(t, ft.Through, ""),
	}
}

// walks reads paths from t that end at assets of a type; empty: of any.
func (l *loader) walks(t *Type, paths []string, end string) []Walk {
	var all []Walk
	for _, path := range paths {
		var w Walk
		from := t
		for name := range strings.SplitSeq(path, ".") {
			a := from.attrs[name]
			if a == nil || a.Kind != Relation {
				l.fail(at(l.files[t].line, "%s: seen: %s has no relation %s", t.Name, from.Name, name))
				return nil
			}
			w, from = append(w, a), a.Related
		}
		if end != "" && from.Name != end {
			l.fail(at(l.files[t].line, "%s: seen: %s leads to no %s", t.Name, path, end))
		}
		all = append(all, w)
	}
	return all
}
