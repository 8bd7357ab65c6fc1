package token

import "strings"

// The limits of one token or filter. The error for a text beyond a limit names the limit.
const (
	MaxHops   = 16     // parts of one path
	MaxTerms  = 200    // comparisons in one filter, including those in its brackets
	MaxDepth  = 8      // nested brackets and parentheses
	MaxValues = 10_000 // values of one comparison
	MaxList   = 500    // tokens in one list
)

// Parse reads one attribute token. Errors: fault.Invalid with the place in src.
func Parse(src string) (Path, error) {
	p := parser{src: src, bad: badPath}
	path, err := p.path()
	if err == nil {
		err = p.end()
	}
	return path, err
}

// ParseList reads tokens separated by commas; empty text is an empty list.
// Errors: fault.Invalid with the place in src.
func ParseList(src string) ([]Path, error) {
	p := parser{src: src, bad: badPath}
	return list(&p, p.path)
}

// ParseSort reads a sort list. A space before a term counts as "+", because URL decoding replaces
// "+" by a space.
// Errors: fault.Invalid with the place in src.
func ParseSort(src string) ([]Sort, error) {
	p := parser{src: src, bad: badPath}
	return list(&p, p.sort)
}

func list[T any](p *parser, item func() (T, error)) ([]T, error) {
	var all []T
	for p.space(); p.pos < len(p.src); p.space() {
		if len(all) > 0 && !p.accept(",") {
			return nil, p.fail("a comma")
		}
		if len(all) == MaxList {
			return nil, p.over("tokens in a list", MaxList)
		}
		p.space()
		x, err := item()
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// ParseFilter reads one filter. Errors: fault.Invalid with the place in src.
func ParseFilter(src string) (Filter, error) {
	p := parser{src: src, bad: badFilter}
	f, err := p.filter()
	if err == nil {
		err = p.end()
	}
	return f, err
}

// parser reads src once, from left to right.
type parser struct {
	src   string
	pos   int
	depth int
	terms int
	bad   func(src string, at int, want string) error
}

func (p *parser) path() (Path, error) {
	path := Path{At: p.pos}
	for {
		if len(path.Hops) == MaxHops {
			return Path{}, p.over("hops", MaxHops)
		}
		h, err := p.hop()
		if err != nil {
			return Path{}, err
		}
		path.Hops = append(path.Hops, h)
		if p.accept(".@") {
			path.AggAt = p.pos
			path.Agg, err = p.name("an aggregate")
			path.End = p.pos
			return path, err
		}
		if !p.accept(".") {
			path.End = p.pos
			return path, nil
		}
	}
}

func (p *parser) sort() (Sort, error) {
	s := Sort{Desc: p.accept("-")}
	if !s.Desc {
		p.accept("+")
	}
	p.space()
	var err error
	s.Path, err = p.path()
	return s, err
}

func (p *parser) hop() (Hop, error) {
	h := Hop{At: p.pos}
	var err error
	if h.Name, err = p.name("an attribute name"); err != nil {
		return Hop{}, err
	}
	h.Now = p.accept("#")
	if p.accept(":") {
		h.DownAt = p.pos
		if h.Down, err = p.name("an asset type"); err != nil {
			return Hop{}, err
		}
	}
	if p.accept("[") {
		f, err := p.nested("]")
		if err != nil {
			return Hop{}, err
		}
		h.Filter = &f
	}
	return h, nil
}

// nested reads a filter, and after it the closing bracket or parenthesis.
func (p *parser) nested(closing string) (Filter, error) {
	if p.depth == MaxDepth {
		return Filter{}, p.over("levels of brackets", MaxDepth)
	}
	p.depth++
	f, err := p.filter()
	if err != nil {
		return Filter{}, err
	}
	p.depth--
	if !p.accept(closing) {
		return Filter{}, p.fail(closing)
	}
	return f, nil
}

func (p *parser) filter() (Filter, error) {
	return p.joined(Or, p.all, "|")
}

func (p *parser) all() (Filter, error) {
	return p.joined(And, p.simple, ";", "&")
}

// joined reads one or more filters that are separated by one of signs.
func (p *parser) joined(op Op, next func() (Filter, error), signs ...string) (Filter, error) {
	f := Filter{Op: op}
	for {
		k, err := next()
		if err != nil {
			return Filter{}, err
		}
		f.Kids = append(f.Kids, k)
		p.space()
		if !p.acceptAny(signs) {
			break
		}
	}
	if len(f.Kids) == 1 {
		return f.Kids[0], nil
	}
	return f, nil
}

func (p *parser) simple() (Filter, error) {
	p.space()
	if p.accept("(") {
		return p.nested(")")
	}
	if p.terms == MaxTerms {
		return Filter{}, p.over("terms", MaxTerms)
	}
	p.terms++
	t := Term{At: p.pos}
	switch {
	case p.accept("+"):
		t.Test = Has
	case p.accept("-"):
		t.Test = Lacks
	}
	var err error
	if t.Path, err = p.path(); err != nil {
		return Filter{}, err
	}
	p.space()
	if t.Test == Holds {
		if t.Test = p.test(); t.Test != Holds {
			t.Values, err = p.values()
		}
	}
	return Filter{Term: t}, err
}

// test reads the longest comparison sign at the current position. If there is no sign, it returns
// Holds.
func (p *parser) test() Test {
	longest := Holds
	for i, sign := range testText {
		if len(sign) > len(longest.String()) && strings.HasPrefix(p.src[p.pos:], sign) {
			longest = Test(i)
		}
	}
	p.accept(longest.String())
	return longest
}

func (p *parser) values() ([]Value, error) {
	p.space()
	v := Value{At: p.pos}
	if p.accept("$") {
		v.Kind = Context
		if n := p.word(); n != "" {
			v.Kind, v.Text = Var, n
		}
		return []Value{v}, nil
	}
	if w := p.word(); strings.EqualFold(w, "true") || strings.EqualFold(w, "false") {
		v.Text = w
		return []Value{v}, nil
	}
	p.pos = v.At
	var list []Value
	for {
		if len(list) == MaxValues {
			return nil, p.over("values in a list", MaxValues)
		}
		p.space()
		v := Value{At: p.pos}
		var err error
		if v.Text, err = p.quoted(); err != nil {
			return nil, err
		}
		list = append(list, v)
		p.space()
		if !p.accept(",") {
			return list, nil
		}
	}
}

func (p *parser) quoted() (string, error) {
	if p.pos == len(p.src) || p.src[p.pos] != '\'' && p.src[p.pos] != '"' {
		return "", p.fail("a quoted value")
	}
	text, end := Quoted(p.src, p.pos)
	if end < 0 {
		return "", p.fail("a closing quote")
	}
	p.pos = end
	return text, nil
}

// Quoted reads the text in quotes that begins at src[at]. It returns the text, and the index after
// the closing quote; -1: there is no closing quote. A doubled quote character, of either kind,
// becomes a single quote character.
func Quoted(src string, at int) (text string, end int) {
	open := src[at]
	var b []byte
	from := at + 1 // start of the text that is not in b yet
	for i := at + 1; i < len(src); i++ {
		c := src[i]
		isQuote := c == '\'' || c == '"'
		twice := isQuote && i+1 < len(src) && src[i+1] == c
		switch {
		case twice:
			b = append(b, src[from:i]...)
			i++
			from = i
		case c == open && b == nil:
			return src[from:i], i + 1
		case c == open:
			return string(append(b, src[from:i]...)), i + 1
		}
	}
	return "", -1
}

// name reads a NAME. In the error, want describes what was expected.
func (p *parser) name(want string) (string, error) {
	if w := p.word(); w != "" {
		return w, nil
	}
	return "", p.fail(want)
}

func (p *parser) word() string {
	from := p.pos
	for p.pos < len(p.src) && isNameByte(p.src[p.pos]) {
		p.pos++
	}
	return p.src[from:p.pos]
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

func (p *parser) accept(s string) bool {
	if strings.HasPrefix(p.src[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *parser) acceptAny(signs []string) bool {
	for _, s := range signs {
		if p.accept(s) {
			return true
		}
	}
	return false
}

func (p *parser) space() {
	for p.pos < len(p.src) && (p.src[p.pos] == ' ' || p.src[p.pos] == '\t' || p.src[p.pos] == '\n' || p.src[p.pos] == '\r') {
		p.pos++
	}
}

func (p *parser) end() error {
	if p.space(); p.pos < len(p.src) {
		return p.fail("the end")
	}
	return nil
}

func (p *parser) fail(want string) error { return p.bad(p.src, p.pos, want) }
func (p *parser) over(what string, limit int) error {
	return tooMany(p.pos, what, limit)
}
