package token

import "strings"

// Path is a parsed attribute token. For example, the token
//
//	Workitems:Story[Owners.@Count!='0'].Estimate.@Sum
//
// has the hops {Workitems, Down: Story, Filter: ...} and {Estimate}, and the aggregate "Sum".
//
// Spec: interface 2.3.
type Path struct {
	Hops  []Hop
	Agg   string // without the ".@"; empty when the token does not aggregate
	AggAt int    // byte offset of the aggregate's name
	At    int    // byte offset of the first hop
	End   int    // byte offset after the last character
}

// Hop is one part of a path: a relation, or the attribute that is read.
type Hop struct {
	Name   string
	Now    bool    // "#": the related asset in its current state
	Down   string  // the asset type after ":", or empty
	Filter *Filter // the filter in brackets, or nil
	At     int     // byte offset of Name
	DownAt int     // byte offset of Down
}

// Sort is one term of a sort order.
type Sort struct {
	Path Path
	Desc bool
}

// String prints p as a token. Parse parses this token to an equal path.
func (p Path) String() string {
	var b strings.Builder
	p.print(&b)
	return b.String()
}

func (p Path) print(b *strings.Builder) {
	for i, h := range p.Hops {
		if i > 0 {
			b.WriteByte('.')
		}
		h.print(b)
	}
	if p.Agg != "" {
		b.WriteString(".@")
		b.WriteString(p.Agg)
	}
}

func (h Hop) print(b *strings.Builder) {
	b.WriteString(h.Name)
	if h.Now {
		b.WriteByte('#')
	}
	if h.Down != "" {
		b.WriteByte(':')
		b.WriteString(h.Down)
	}
	if h.Filter != nil {
		b.WriteByte('[')
		h.Filter.print(b)
		b.WriteByte(']')
	}
}

// String prints s as a term of a sort list.
func (s Sort) String() string {
	if s.Desc {
		return "-" + s.Path.String()
	}
	return s.Path.String()
}
