package models

import (
	"cmp"
	"slices"
	"strings"
)

// hit is one result of a search of the model.
type hit struct {
	What        string // "type", "attribute" or "operation"
	Type        string
	Part        string // attribute or operation; empty: the type itself
	DisplayName string
	Kind        string
	Related     string
	IsCustom    bool
	rank        int // 0: exact name; 1: prefix; 2: contained
}

// places has the order of results with the same rank.
var places = map[string]int{"type": 0, "attribute": 1, "operation": 2}

// search finds types, attributes and operations by a part of their name or display name. With
// a text of the form Type.Name it finds the attributes and operations of that type, including
// inherited ones.
func (m *model) search(text string) []hit {
	of, part, dotted := strings.Cut(text, ".")
	var found []hit
	if !dotted {
		part = text
		found = m.searchTypes(text)
	}
	owners := func(of string) []string { return []string{of} }
	if dotted {
		owners = m.heirs(of)
	}
	add := func(what string, all []modelPart) {
		for _, p := range all {
			rank, ok := matches(part, p.Name, p.DisplayName)
			if !ok {
				continue
			}
			for _, t := range owners(p.Of) {
				found = append(found, hit{What: what, Type: t, Part: p.Name, DisplayName: p.DisplayName, Kind: p.Kind, Related: p.Related, IsCustom: p.IsCustom, rank: rank})
			}
		}
	}
	add("attribute", m.attributes)
	add("operation", m.operations)
	slices.SortStableFunc(found, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(places[a.What], places[b.What]), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Type, b.Type))
	})
	return found
}

func (m *model) searchTypes(text string) []hit {
	var found []hit
	for _, t := range m.types {
		if rank, ok := matches(text, t.Name, t.DisplayName); ok {
			found = append(found, hit{What: "type", Type: t.Name, DisplayName: t.DisplayName, IsCustom: t.IsCustom, rank: rank})
		}
	}
	return found
}

// heirs finds the types whose name or display name is name. The function that it returns takes a
// type that declares an attribute or operation. It returns those of the found types that have this
// attribute or operation.
func (m *model) heirs(name string) func(declared string) []string {
	below := map[string][]string{}
	for _, t := range m.types {
		if rank, ok := matches(name, t.Name, t.DisplayName); !ok || rank > 0 {
			continue
		}
		for _, above := range m.above(t.Name) {
			below[above] = append(below[above], t.Name)
		}
	}
	return func(declared string) []string { return below[declared] }
}

// above returns a type and its ancestors, the nearest first.
func (m *model) above(name string) []string {
	var all []string
	for t := m.byName[name]; t != nil && len(all) < len(m.types); t = m.byName[t.Base] {
		all = append(all, t.Name)
	}
	return all
}

// matches reports whether a name or display name contains a text, ignoring case, and how well
// it fits. Spaces in the text are ignored for names, because names have no spaces.
func matches(text, name, displayName string) (rank int, ok bool) {
	text, name, displayName = strings.ToLower(text), strings.ToLower(name), strings.ToLower(displayName)
	joined := strings.ReplaceAll(text, " ", "")
	switch {
	case name == joined || displayName == text:
		return 0, true
	case strings.HasPrefix(name, joined) || strings.HasPrefix(displayName, text):
		return 1, true
	}
	return 2, strings.Contains(name, joined) || strings.Contains(displayName, text)
}

// called returns the display name, or "" if it differs from the name only in spaces and case.
func called(name, displayName string) string {
	if strings.EqualFold(strings.ReplaceAll(displayName, " ", ""), name) {
		return ""
	}
	return displayName
}
