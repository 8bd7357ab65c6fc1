package ui

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names maps Oids to the names of assets.
type Names map[string]string

// Of returns the name of an asset. It returns the Oid if the reader does not see the asset.
func (n Names) Of(oid string) string {
	if name := n[oid]; name != "" {
		return name
	}
	return oid
}

// NamesOf reads the names of assets. It skips texts that are not Oids. Errors: *Error.
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

// RoleName removes the prefix of the tag from the name of a role. Other names stay unchanged.
func RoleName(tag string) string { return strings.TrimPrefix(tag, "Role.Name'") }

// Initials returns the first letters of the first and the last word of a name, for the round sign of
// a person. It returns "?" for a name without letters and digits.
func Initials(name string) string {
	var first, last string
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		letter, _ := utf8.DecodeRuneInString(word)
		if last = string(letter); first == "" {
			first, last = last, ""
		}
	}
	return cmp.Or(first+last, "?")
}
