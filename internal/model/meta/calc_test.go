package meta

import (
	"regexp"
	"strings"
	"testing"
)

var (
	step   = regexp.MustCompile(`^([A-Za-z]+)(?::([A-Za-z]+))?`)
	filter = regexp.MustCompile(`^\[([^\]]+)\]`)
	term   = regexp.MustCompile(`^[-+]?([A-Za-z.]+(?:@[A-Z][a-z]+)?)(?:(?:!?=|>)('[^']*')(?:,'[^']*')*)?$`)
)

// checkPath checks that the names in a selection token exist in the model.
func checkPath(t *testing.T, m *Model, typ *Type, path string) {
	t.Helper()
	for rest := path; rest != "" && !strings.HasPrefix(rest, "@"); rest = strings.TrimPrefix(rest, ".") {
		part := step.FindStringSubmatch(rest)
		if part == nil {
			t.Errorf("%s: cannot read %s", path, rest)
			return
		}
		a, ok := typ.Attr(part[1])
		if !ok {
			t.Errorf("%s: no attribute %s.%s", path, typ.Name, part[1])
			return
		}
		if typ = a.Related; part[2] != "" {
			typ, _ = m.Type(part[2])
		}
		rest = rest[len(part[0]):]
		if f := filter.FindStringSubmatch(rest); f != nil {
			checkFilter(t, m, typ, f[1])
			rest = rest[len(f[0]):]
		}
		if typ == nil && rest != "" && !strings.HasPrefix(rest, ".@") {
			t.Errorf("%s goes on after %s, which is no relation", path, a.Token())
			return
		}
	}
}

// checkFilter checks that the names in a filter without brackets exist in the model.
func checkFilter(t *testing.T, m *Model, typ *Type, text string) {
	t.Helper()
	for _, simple := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '|' }) {
		part := term.FindStringSubmatch(simple)
		if part == nil {
			t.Errorf("cannot read filter %s", simple)
			continue
		}
		checkPath(t, m, typ, part[1])
	}
}

// Calculated attributes refer only to existing names.
func TestCalculations(t *testing.T) {
	m := Default()
	every(m, func(typ *Type, a *Attr) {
		switch {
		case a.Place.Kind != Calc:
		case a.Kind == Boolean:
			checkFilter(t, m, typ, a.Place.Expr)
		default:
			checkPath(t, m, typ, a.Place.Expr)
		}
	})
}
