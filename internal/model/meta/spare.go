package meta

import (
	"slices"
	"strconv"
)

// MaxSpare is the number of columns of each kind that the tables asset and asset_version have
// for custom attributes. A type, with the types above and below it, can have this many
// attributes of a kind in columns. The others are stored in the JSON.
const MaxSpare = 8

// spare are the kinds of custom attributes that have columns, in the order of the columns in the
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

// spareColumn returns the column of a kind and a number, or "".
func spareColumn(k Kind, n int) string {
	for _, s := range spare {
		if s.of == k && n >= 1 && n <= MaxSpare {
			return s.prefix + strconv.Itoa(n)
		}
	}
	return ""
}

// spareColumns adds the columns that custom attributes use to the model, so that statements do not
// name unused columns.
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

// AllColumns returns the Columns, followed by the columns for custom attributes that m does not
// use. So a process with an outdated model keeps the values of these columns when it writes.
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

// FreeColumn returns the Code of a new custom attribute of a type and a kind; c is all that
// administrators have added. It is the lowest column number that no attribute of the type, or
// of a type above or below it, uses. Retired attributes use their column, attributes with
// deleted values do not. The result is 0, which means the JSON, if no column is free or the
// kind has no columns.
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

// typesWith returns the types by name, including retired ones and lists that m does not have
// yet.
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

// typeNamed returns the type with this name, also if it is retired, or nil.
func (m *Model) typeNamed(name string) *Type {
	i := slices.IndexFunc(m.Types, func(t *Type) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return m.Types[i]
}
