package costtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A request is built from values that the test can reduce: nil, a bool, an int, a text, a dict, a list or a
// many.
type (
	// text is a sequence of parts. Each part is Of, repeated N times, with Between after each repetition
	// except the last.
	text []part
	part struct {
		Of, Between string
		N           int
	}
	// dict is a JSON object whose members have an order.
	dict   []member
	member struct {
		Key   string
		Value any
	}
	list []any
	// many is a list that has the same value N times.
	many struct {
		N      int
		Of     any
		Shared bool // true: YAML writes the value once, and then aliases
	}
)

// index is a placeholder in a repeated part or a repeated value. Each repetition has its number instead,
// counted from 0.
const index = "\x01"

// word returns a text that is not repeated.
func word(s string) text { return text{{Of: s, N: 1}} }

// again returns a text in which s is repeated n times, separated by the parameter between.
func again(s string, n int, between string) text { return text{{s, between, n}} }

// and concatenates texts.
func and(all ...text) text { return slices.Concat(all...) }

// mostText is the number of bytes after which a text ends. Requests are smaller. A text whose part is a text
// with repetitions could have gigabytes.
const mostText = 1 << 20

// String returns the text with all repetitions written out.
func (t text) String() string { return t.at("") }

func (t text) at(outer string) string {
	var b strings.Builder
	for _, p := range t {
		for i := range p.N {
			if b.Len() > mostText {
				return b.String()
			}
			if i > 0 {
				b.WriteString(p.Between)
			}
			at := outer
			if p.N > 1 {
				at = strconv.Itoa(i)
			}
			if strings.Contains(p.Of, index) {
				b.WriteString(strings.ReplaceAll(p.Of, index, at))
			} else {
				b.WriteString(p.Of)
			}
		}
	}
	return b.String()
}

// get returns the value of a key, or nil if the key does not exist.
func (d dict) get(key string) any {
	for _, m := range d {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// set adds a member. If the key exists, it replaces the value.
func (d *dict) set(key string, value any) {
	for i, m := range *d {
		if m.Key == key {
			(*d)[i].Value = value
			return
		}
	}
	*d = append(*d, member{key, value})
}

// encoder writes values as JSON, or as YAML in flow style with aliases.
type encoder struct {
	bytes.Buffer
	yaml    bool
	anchors int
	most    int // number of bytes after which it stops
}

func (e *encoder) value(v any, at string) {
	if e.Len() > e.most {
		return
	}
	switch v := v.(type) {
	case text:
		e.text(v.at(at))
	case string:
		e.text(v)
	case dict:
		e.between('{', '}', len(v), func(i int) {
			e.text(strings.ReplaceAll(v[i].Key, index, at))
			e.WriteString(": ")
			e.value(v[i].Value, at)
		})
	case list:
		e.between('[', ']', len(v), func(i int) { e.value(v[i], at) })
	case many:
		anchor := ""
		e.between('[', ']', v.N, func(i int) {
			switch {
			case !e.yaml || !v.Shared:
				e.value(v.Of, strconv.Itoa(i))
			case i == 0:
				e.anchors++
				anchor = "a" + strconv.Itoa(e.anchors)
				e.WriteString("&" + anchor + " ")
				e.value(v.Of, at)
			default:
				e.WriteString("*" + anchor)
			}
		})
	default:
		raw, _ := json.Marshal(v) // never fails for nil, a Boolean or a number
		e.Write(raw)
	}
}

func (e *encoder) between(open, end byte, n int, each func(int)) {
	e.WriteByte(open)
	for i := 0; i < n && e.Len() <= e.most; i++ {
		if i > 0 {
			e.WriteString(", ")
		}
		each(i)
	}
	e.WriteByte(end)
}

func (e *encoder) text(s string) {
	raw, _ := json.Marshal(s) // never fails for a string
	e.Write(raw)
}

// xml writes the body of a write by path. A list becomes a relation, and a text becomes an attribute.
func (e *encoder) xml(d dict) {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", index, "0", "\x00", "")
	e.WriteString("<Asset>")
	for _, m := range d {
		each := func(v any) {
			if v, ok := v.(text); ok {
				e.WriteString(`<Asset idref="` + escape.Replace(v.String()) + `" act="add"/>`)
			}
		}
		switch v := m.Value.(type) {
		case list:
			e.WriteString(`<Relation name="` + escape.Replace(m.Key) + `">`)
			for _, item := range v {
				each(item)
			}
			e.WriteString("</Relation>")
		case many:
			e.WriteString(`<Relation name="` + escape.Replace(m.Key) + `">`)
			for i := 0; i < v.N && e.Len() <= e.most; i++ {
				each(v.Of)
			}
			e.WriteString("</Relation>")
		case text:
			e.WriteString(`<Attribute name="` + escape.Replace(m.Key) + `" act="set">` + escape.Replace(v.String()) + "</Attribute>")
		}
	}
	e.WriteString("</Asset>")
}

// smaller returns copies of a value. Each copy is reduced in one place: something is repeated less often,
// or an element is left out.
func smaller(v any) (all []any) {
	switch v := v.(type) {
	case text:
		for i, p := range v {
			for _, n := range fewer(p.N) {
				c := slices.Clone(v)
				c[i].N = n
				all = append(all, c)
			}
			if len(v) > 1 {
				all = append(all, slices.Delete(slices.Clone(v), i, i+1))
			}
		}
	case dict:
		for i := range v {
			all = append(all, slices.Delete(slices.Clone(v), i, i+1))
			for _, s := range smaller(v[i].Value) {
				c := slices.Clone(v)
				c[i].Value = s
				all = append(all, c)
			}
		}
	case list:
		for i := range v {
			all = append(all, slices.Delete(slices.Clone(v), i, i+1))
			for _, s := range smaller(v[i]) {
				c := slices.Clone(v)
				c[i] = s
				all = append(all, c)
			}
		}
	case many:
		for _, n := range fewer(v.N) {
			all = append(all, many{n, v.Of, v.Shared})
		}
		for _, s := range smaller(v.Of) {
			all = append(all, many{v.N, s, v.Shared})
		}
	}
	return all
}

// fewer returns some numbers that are smaller than n, in ascending order.
func fewer(n int) []int {
	var all []int
	for _, less := range []int{1, n / 2, n - n/4} {
		if less < n && less > 0 && !slices.Contains(all, less) {
			all = append(all, less)
		}
	}
	return all
}

// largest returns the highest number of repetitions in a value; 0 if nothing is repeated.
func largest(v any) (n int) {
	switch v := v.(type) {
	case text:
		for _, p := range v {
			n = max(n, p.N)
		}
	case dict:
		for _, m := range v {
			n = max(n, largest(m.Value))
		}
	case list:
		for _, item := range v {
			n = max(n, largest(item))
		}
	case many:
		n = max(v.N, largest(v.Of))
	}
	return n
}

// atMost returns a copy of a value in which nothing is repeated more than n times.
func atMost(v any, n int) any {
	switch v := v.(type) {
	case text:
		c := slices.Clone(v)
		for i := range c {
			c[i].N = min(c[i].N, n)
		}
		return c
	case dict:
		c := slices.Clone(v)
		for i := range c {
			c[i].Value = atMost(c[i].Value, n)
		}
		return c
	case list:
		c := slices.Clone(v)
		for i := range c {
			c[i] = atMost(c[i], n)
		}
		return c
	case many:
		return many{min(v.N, n), atMost(v.Of, n), v.Shared}
	}
	return v
}
