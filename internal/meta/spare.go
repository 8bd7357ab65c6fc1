package meta

import (
	"slices"
	"strconv"
)

// MaxSpare is how many columns of a kind the tables asset and asset_version have
// for custom attributes, so how many of that kind a type, the types above it and
// those below it can have in columns together. What else there is lies in the JSON.
const MaxSpare = 8

// spare are the kinds of custom attributes that have columns, in the order of the
// tables.
var spare = []struct {
	of     Kind
	prefix string
	holds  ColumnKind
}{
	{Numeric, "custom_number_", Number},
	{Date, "custom_date_", Micros},
	{Text, "custom_text_", Str},
}

// spareColumn is the column of a kind and a number; empty when there is none.
func spareColumn(k Kind, n int) string {
	for _, s := range spare {
		if s.of == k && n >= 1 && n <= MaxSpare {
			return s.prefix + strconv.Itoa(n)
		}
	}
	return ""
}

// spareColumns adds those columns to the model that custom attributes lie in, so that
// statements name no other.
func (l *loader) spareColumns() {
	for _, s := range spare {
		for n := 1; n <= MaxSpare; n++ {
			if slices.ContainsFunc(l.custom.Attributes, func(c CustomAttribute) bool { return c.Kind == s.of && c.Code == n && !c.Purged }) {
				l.slots[spareColumn(s.of, n)] = len(l.m.Columns)
				l.m.Columns = append(l.m.Columns, Column{Name: spareColumn(s.of, n), Kind: s.holds})
			}
		}
	}
}

// AllColumns are the Columns, and after them the columns for custom attributes that
// no attribute of m lies in: who may write by a model that is not the present one
// keeps what lies there.
func (m *Model) AllColumns() []Column {
	all := slices.Clone(m.Columns)
	for _, s := range spare {
		for n := 1; n <= MaxSpare; n++ {
			if c := (Column{Name: spareColumn(s.of, n), Kind: s.holds}); !slices.Contains(m.Columns, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// FreeColumn returns the Code of a new custom attribute of a type and a kind, where c
// is all that administrators have added: the lowest number of a column that no
// attribute of the type, of one above it or of one below it has, retired ones
// included; one whose values are deleted has none. It is 0, which is the JSON, when there is none, and for kinds without
// columns.
func (m *Model) FreeColumn(c Custom, on string, k Kind) int {
	types := m.typesWith(c.Lists)
	t := types[on]
	if t == nil || spareColumn(k, 1) == "" {
		return 0
	}
	var taken [MaxSpare + 1]bool
	for _, a := range c.Attributes {
		if a.Kind != k || a.Purged || spareColumn(k, a.Code) == "" {
			continue
		}
		if other := types[a.Type]; other != nil && (t.IsA(other) || other.IsA(t)) {
			taken[a.Code] = true
		}
	}
	for n := 1; n <= MaxSpare; n++ {
		if !taken[n] {
			return n
		}
	}
	return 0
}

// typesWith are the types by name, retired ones and lists that m does not know yet
// included.
func (m *Model) typesWith(lists []CustomList) map[string]*Type {
	all := map[string]*Type{}
	for _, l := range lists {
		if l.Purged {
			continue
		}
		all[l.Name] = &Type{Name: l.Name, Parent: m.types["List"]}
	}
	for _, t := range m.Types {
		all[t.Name] = t
	}
	return all
}

// typeNamed finds a type by its name, retired ones too.
func (m *Model) typeNamed(name string) *Type {
	i := slices.IndexFunc(m.Types, func(t *Type) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return m.Types[i]
}
