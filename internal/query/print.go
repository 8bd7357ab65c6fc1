package query

import (
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
)

// String prints a bound query, one part on each line, with nested selects indented.
func (q Bound) String() string {
	var b strings.Builder
	q.print(&b, "")
	return b.String()
}

func (q Bound) print(b *strings.Builder, in string) {
	if len(q.Via.Steps) == 0 {
		fmt.Fprintf(b, "%sfrom %s", in, q.Type.Name)
	} else {
		fmt.Fprintf(b, "%svia %s", in, q.Via)
	}
	if q.ID != nil {
		fmt.Fprintf(b, " id %d", *q.ID)
	}
	if q.Deleted {
		b.WriteString(", deleted too")
	}
	b.WriteByte('\n')
	for _, c := range q.Columns {
		if c.Sub != nil {
			fmt.Fprintf(b, "%s  select %s\n", in, c.Name)
			c.Sub.print(b, in+"    ")
			continue
		}
		fmt.Fprintf(b, "%s  select %s: %s\n", in, c.Name, c.Path)
	}
	if q.Filter != nil {
		fmt.Fprintf(b, "%s  filter %s\n", in, *q.Filter)
	}
	for _, s := range q.Sort {
		dir := "+"
		if s.Desc {
			dir = "-"
		}
		fmt.Fprintf(b, "%s  sort %s%s\n", in, dir, s.Path)
	}
	if q.Page != nil {
		fmt.Fprintf(b, "%s  page %d from %d\n", in, q.Page.Size, q.Page.Start)
	}
}

// String prints a bound path: each step with its type, "*" if the step is to-many, then the kind of
// the value.
func (p Path) String() string {
	var b strings.Builder
	b.WriteString(p.On.Name)
	for _, s := range p.Steps {
		fmt.Fprintf(&b, " > %s", s)
	}
	switch {
	case p.Leaf.Cond != nil:
		fmt.Fprintf(&b, " ? %s", *p.Leaf.Cond)
	case p.Leaf.Path != nil:
		fmt.Fprintf(&b, " = (%s)", *p.Leaf.Path)
	case p.Leaf.Union != nil:
		fmt.Fprintf(&b, " . %s by type", p.Leaf.Union.Attr.Name)
	case p.Leaf.Attr != nil:
		fmt.Fprintf(&b, " . %s", p.Leaf.Attr.Name)
		if p.Leaf.Attr.Multi {
			b.WriteByte('*')
		}
	}
	if p.Agg != None {
		fmt.Fprintf(&b, " @%s", p.Agg)
	}
	fmt.Fprintf(&b, " %s", p.Kind())
	if p.Only != nil {
		fmt.Fprintf(&b, " only on %s", typeNames(p.Only))
	}
	return b.String()
}

// String prints a step: the relation, "*" if the relation is to-many, and the type of its assets.
func (s Step) String() string {
	var b strings.Builder
	b.WriteString(s.Attr.Name)
	if s.Attr.Multi {
		b.WriteByte('*')
	}
	if s.Now {
		b.WriteByte('#')
	}
	b.WriteString(":" + s.To.Name)
	if s.Filter != nil {
		fmt.Fprintf(&b, "[%s]", *s.Filter)
	}
	if s.Deleted {
		b.WriteString("!")
	}
	if s.All {
		b.WriteString("~")
	}
	return b.String()
}

func typeNames(types []*meta.Type) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return strings.Join(names, ",")
}

// String prints a bound filter with the typed values.
func (c Cond) String() string {
	switch {
	case c.Right != nil:
		return c.Right.String()
	case c.Op == token.Leaf:
		return c.Term.String()
	}
	sign := " and "
	if c.Op == token.Or {
		sign = " or "
	}
	parts := make([]string, len(c.Kids))
	for i, k := range c.Kids {
		parts[i] = k.String()
	}
	return "(" + strings.Join(parts, sign) + ")"
}

var testWords = map[token.Test]string{token.Holds: "holds", token.Has: "has a value", token.Lacks: "has no value"}

// String prints a bound comparison.
func (t Term) String() string {
	if word, ok := testWords[t.Test]; ok {
		return fmt.Sprintf("{%s %s}", t.Path, word)
	}
	parts := make([]string, len(t.Values))
	for i, v := range t.Values {
		parts[i] = v.String()
	}
	return fmt.Sprintf("{%s %s %s}", t.Path, t.Test, strings.Join(parts, ", "))
}

// String prints a typed value.
func (v Value) String() string {
	switch v.Kind {
	case NoValue:
		return "none"
	case TextOf:
		return fmt.Sprintf("%q", v.Text)
	case NumOf:
		return fmt.Sprint(v.Num)
	case DeadOf:
		return "dead"
	case RefOf:
		return fmt.Sprintf("%s#%d", v.Type.Name, v.Int)
	case TypeOf:
		return v.Type.Name
	case ContextOf:
		return "$"
	}
	return fmt.Sprint(v.Int)
}

// String prints a plan: for each statement its tables, and the cells from which its columns are
// read.
func (p *Plan) String() string {
	var b strings.Builder
	p.print(&b, "")
	return b.String()
}

func (s *Body) print(b *strings.Builder, in string) {
	s.From.print(b, in)
	for _, c := range s.Columns {
		fmt.Fprintf(b, "%s  %s\n", in, c)
	}
	for i, br := range s.Branches {
		fmt.Fprintf(b, "%s  branch %d\n", in, i)
		br.print(b, in+"    ")
	}
}

// String prints from which cell or branch a column is read.
func (c Column) String() string {
	switch {
	case c.Branch >= 0 && c.Item < 0:
		return fmt.Sprintf("%s: rows of branch %d", c.Name, c.Branch)
	case c.Branch >= 0:
		return fmt.Sprintf("%s: column %d of branch %d", c.Name, c.Item, c.Branch)
	case c.Kind == meta.Relation && c.Typed >= 0:
		return fmt.Sprintf("%s: asset in cells %d, %d%s", c.Name, c.Cell, c.Typed, ofMoment(c))
	case c.Kind == meta.Relation:
		return fmt.Sprintf("%s: %s in cell %d", c.Name, c.Ref.Name, c.Cell)
	}
	return fmt.Sprintf("%s: %s in cell %d", c.Name, c.Kind, c.Cell)
}

// ofMoment prints the cell with the moment of the related version.
func ofMoment(c Column) string {
	if c.MomentCell == 0 {
		return ""
	}
	return fmt.Sprintf(", of the moment in cell %d", c.MomentCell)
}

var kindWords = [...]string{Asset: "assets", Link: "links", Values: "values", ScopeTree: "scope tree", Tree: "tree", Audit: "audit", Grants: "grants", Pairs: "parents"}

var modeWords = [...]string{Now: "", At: " at one moment", Each: " at each moment", Version: " of every moment"}

func (t *Table) print(b *strings.Builder, in string) {
	b.WriteString(in)
	if t.Left {
		b.WriteString("maybe ")
	}
	b.WriteString(kindWords[t.Kind] + modeWords[t.When.Mode])
	if t.Kind == Asset && t.Of != nil {
		b.WriteString(": " + typeNames(t.Of))
	}
	b.WriteByte('\n')
	for _, j := range t.Joins {
		j.print(b, in+"  + ")
	}
}
