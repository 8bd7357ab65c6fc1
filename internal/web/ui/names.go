package ui

import (
	"maps"
	"slices"
	"strings"
)

// Names are what assets are called, by their Oids.
type Names map[string]string

// Of is what an asset is called, or its Oid where the reader does not see it.
func (n Names) Of(oid string) string {
	if name := n[oid]; name != "" {
		return name
	}
	return oid
}

// NamesOf reads what assets are called; texts that are no Oid are left out. Errors:
// *Error.
func (v *Visit) NamesOf(all ...string) (Names, error) {
	byType := map[string][]string{}
	for _, oid := range slices.Compact(slices.Sorted(slices.Values(all))) {
		if m := oids.FindStringSubmatch(oid); m != nil {
			byType[m[1]] = append(byType[m[1]], oid)
		}
	}
	types := slices.Sorted(maps.Keys(byType))
	queries, into, lists := []Query{}, []any{}, make([][]Named, len(types))
	for i, t := range types {
		queries = append(queries, Query{"from": t, "select": []string{"Name"}, "filter": []string{"ID='" + strings.Join(byType[t], "','") + "'"}})
		into = append(into, &lists[i])
	}
	names := Names{}
	if len(queries) == 0 {
		return names, nil
	}
	if err := v.API.Find(queries, into...); err != nil {
		return nil, err
	}
	for _, named := range slices.Concat(lists...) {
		names[named.Oid] = RoleName(named.Name)
	}
	return names, nil
}

// RoleName is the name of a role without what makes it a tag; other names stay.
func RoleName(tag string) string { return strings.TrimPrefix(tag, "Role.Name'") }
