package meta

import (
	"slices"
	"strings"
)

// Seen says who sees the assets of a type if the SecurityScope does not decide alone. The zero
// value means that the SecurityScope decides, and that everyone sees an asset without a
// SecurityScope.
//
//	Shared   a member is seen by itself and by all who read a project in which it has a
//	         role, or a project below such a project.
//	Only     if one of these paths leads to a member, only those members see the asset.
//	By       these members always see it.
//	Through  for an asset without a SecurityScope: the first path with targets decides,
//	         and the caller must see one of them. If no path has targets, everyone sees
//	         the asset. A target whose type has the same rule does not count.
//
// A path may lead to any assets, also to those that the caller does not see.
type Seen struct {
	Shared            bool
	Only, By, Through []Walk
}

// Walk is a path of relations from an asset of the type to other assets.
type Walk []*Attr

// String returns the path as the file spells it.
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

// Same reports whether two types have the same rule, so that one condition applies to the
// assets of both.
func (s *Seen) Same(o *Seen) bool {
	same := func(a, b Walk) bool {
		return slices.EqualFunc(a, b, func(x, y *Attr) bool {
			return x.Name == y.Name && x.Place.Kind == y.Place.Kind && x.Place.Code == y.Place.Code
		})
	}
	return s.Shared == o.Shared && slices.EqualFunc(s.Only, o.Only, same) &&
		slices.EqualFunc(s.By, o.By, same) && slices.EqualFunc(s.Through, o.Through, same)
}

// seenBy reads who sees the assets of t, and refuses invalid paths.
func (l *loader) seenBy(t *Type) Seen {
	ft := l.files[t].Seen
	return Seen{
		Shared: ft.Shared, Only: l.walks(t, ft.Only, "Member"), By: l.walks(t, ft.By, "Member"),
		Through: l.walks(t, ft.Through, ""),
	}
}

// walks reads paths from t to other assets. end is the name of their type; if end is empty, they
// may have any type.
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
