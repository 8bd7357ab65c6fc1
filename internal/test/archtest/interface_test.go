package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
)

var (
	quoted = regexp.MustCompile("`([A-Za-z]+)`")

	// attribute matches an attribute in a table cell. The second group is the mark for several values, the
	// third group is the related type. Both groups may be empty.
	attribute = regexp.MustCompile("`([A-Za-z]+)`(\\\\\\*)?(?: ([A-Z][A-Za-z]+))?")
)

// rowsOf returns the rows of the first table below a heading of docs/interface.md, as cells, without the
// two header lines.
func rowsOf(t *testing.T, heading string) [][]string {
	t.Helper()
	_, text, ok := strings.Cut(string(read(t, "docs/interface.md")), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("docs/interface.md has no %q", heading)
	}
	var rows [][]string
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.TrimSpace(line), "|"); len(cells) > 2 {
			rows = append(rows, cells[1:len(cells)-1])
		} else if len(rows) > 0 {
			break
		}
	}
	return rows[2:]
}

func typeNamed(t *testing.T, m *meta.Model, name string) *meta.Type {
	t.Helper()
	found, ok := m.Type(name)
	if !ok {
		t.Fatalf("docs/interface.md names the type %s, which is not there", name)
	}
	return found
}

// TestInterfaceAttributes checks that the model has the attributes that docs/interface.md lists, and that
// the document lists every required attribute.
func TestInterfaceAttributes(t *testing.T) {
	m := meta.Default()
	for _, row := range rowsOf(t, "#### 2.2.7 Common attributes") {
		names := quoted.FindAllStringSubmatch(row[0], -1)
		if names == nil { // every type
			names = [][]string{{"", "BaseAsset"}, {"", "Note"}}
		}
		for _, name := range names {
			checkAttributes(t, typeNamed(t, m, name[1]), row)
		}
	}
}

func checkAttributes(t *testing.T, typ *meta.Type, row []string) {
	t.Helper()
	var required []string
	for i, cell := range row[1:] {
		for _, found := range attribute.FindAllStringSubmatch(cell, -1) {
			a, ok := typ.Attr(found[1])
			switch {
			case !ok:
				t.Errorf("%s has no %s", typ.Name, found[1])
			case a.Multi != (found[2] != ""):
				t.Errorf("%s.%s has several values: %t", typ.Name, a.Name, a.Multi)
			case found[3] != "" && (a.Related == nil || a.Related.Name != found[3]):
				t.Errorf("%s.%s does not lead to %s", typ.Name, a.Name, found[3])
			case (i == 2) != a.ReadOnly:
				t.Errorf("%s.%s is read-only: %t", typ.Name, a.Name, a.ReadOnly)
			}
			if i == 0 {
				required = append(required, found[1])
			}
		}
	}
	for _, a := range typ.Attrs {
		if a.Required && len(row[1]) > 2 && !slices.Contains(required, a.Name) {
			t.Errorf("%s.%s is required", typ.Name, a.Name)
		}
	}
}

// TestInterfaceTypes checks that docs/interface.md names every concrete type, except for list types.
func TestInterfaceTypes(t *testing.T) {
	m := meta.Default()
	list := typeNamed(t, m, "List")
	named := map[string]bool{}
	for _, row := range rowsOf(t, "#### 2.1.1 Types") {
		for _, found := range quoted.FindAllStringSubmatch(row[1], -1) {
			named[typeNamed(t, m, found[1]).Name] = true
		}
	}
	for _, typ := range concrete(m) {
		if !named[typ.Name] && !typ.IsA(list) {
			t.Errorf("docs/interface.md lacks the type %s", typ.Name)
		}
	}
}

// TestInterfaceOperations checks that docs/interface.md names all operations of each type and no others.
func TestInterfaceOperations(t *testing.T) {
	m := meta.Default()
	listed := map[string]bool{}
	for _, row := range rowsOf(t, "### 3.2 Operations") {
		for _, op := range quoted.FindAllStringSubmatch(row[0], -1) {
			for _, typ := range typesIn(t, m, row[1]) {
				listed[typ.Name+"."+op[1]] = true
			}
		}
	}
	for _, typ := range concrete(m) {
		for _, op := range typ.Ops {
			if name := typ.Name + "." + op.Name; !listed[name] {
				t.Errorf("docs/interface.md lacks %s", name)
			} else {
				delete(listed, name)
			}
		}
	}
	for name := range listed {
		t.Errorf("docs/interface.md names %s, which is not there", name)
	}
}

// TestInterfaceDisplayNames checks that docs/interface.md has the same display names by methodology as the
// model.
func TestInterfaceDisplayNames(t *testing.T) {
	m := meta.Default()
	for _, row := range rowsOf(t, "#### 2.1.3 Display names") {
		typ := typeNamed(t, m, quoted.FindStringSubmatch(row[0])[1])
		for i, methodology := range []string{"XP", "Scrum", "AgileUP", "DSDM"} {
			want, ok := typ.DisplayNames[methodology]
			if !ok {
				want = typ.DisplayNames["Scrum"] // the type has one name for all methodologies
			}
			if got := strings.TrimSpace(row[1+i]); got != want {
				t.Errorf("docs/interface.md calls %s %s in %s, the model %s", typ.Name, got, methodology, want)
			}
		}
	}
}

// concrete returns the types that assets can have.
func concrete(m *meta.Model) []*meta.Type {
	return slices.DeleteFunc(slices.Clone(m.Types), func(typ *meta.Type) bool { return typ.Abstract })
}

// typesIn returns the concrete types of a cell: the subtypes of the named types, or for "all" every type
// outside the metadata.
func typesIn(t *testing.T, m *meta.Model, cell string) []*meta.Type {
	t.Helper()
	var types []*meta.Type
	if strings.TrimSpace(cell) == "all" {
		for _, typ := range m.Types {
			if !typ.Abstract && !typ.Metadata {
				types = append(types, typ)
			}
		}
		return types
	}
	for name := range strings.SplitSeq(cell, ",") {
		types = append(types, typeNamed(t, m, strings.TrimSpace(name)).Concrete...)
	}
	return types
}
