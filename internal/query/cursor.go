package query

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
)

// A cursor has the sort keys of the last row of a page. So the next page begins after this row,
// even if rows were written meanwhile. A cursor is the base64 of a JSON list. The list has a hash
// of the query, and one key for each term of the sort order.
//
//	["9c0f…", "i3", "n", "tLogin", "i1020"]   3, null, "Login", 1020
//
// The first letter of a key is its type (see keyText).

// Cursor returns the cursor of a row. Each of its sort keys is an int64, a float64, a string or
// nil.
func (p *Plan) Cursor(keys []any) string {
	list := []string{p.queryHash}
	for _, k := range keys {
		list = append(list, keyText(k))
	}
	text, _ := json.Marshal(list) // encoding strings never fails
	return base64.RawURLEncoding.EncodeToString(text)
}

func keyText(k any) string {
	switch k := k.(type) {
	case int64:
		return "i" + strconv.FormatInt(k, 10)
	case float64:
		return "f" + strconv.FormatFloat(k, 'x', -1, 64)
	case string:
		return "t" + k
	}
	return "n"
}

func keyOf(text string) (any, bool) {
	if text == "" {
		return nil, false
	}
	rest := text[1:]
	switch text[0] {
	case 'i':
		n, err := strconv.ParseInt(rest, 10, 64)
		return n, err == nil
	case 'f':
		f, err := strconv.ParseFloat(rest, 64)
		return f, err == nil && f-f == 0
	case 't':
		return rest, true
	}
	return nil, text == "n"
}

// resume adds the sort keys to the cells of a plan that is read page by page. If the request has a
// cursor, resume also adds the condition that rows come after the cursor's row.
// Errors: fault.Invalid for a cursor of another query, and for a sort key that depends on the
// current time. With such a key, rows of earlier pages would appear again on later pages.
func (p *Plan) resume(q Bound) error {
	p.queryHash = q.queryHash()
	p.Keys = len(p.Cells)
	for _, o := range p.Order {
		p.Cells = append(p.Cells, o.X)
	}
	after := q.Page.After
	for _, o := range p.Order {
		if readsClock(o.X) {
			return movesWithTheClock(after.At)
		}
	}
	if after.Text == "" {
		return nil
	}
	keys, ok := p.keys(after.Text)
	if !ok {
		return badPage(after.At, "after "+after.Text)
	}
	p.Resume = afterKeys(p.Order, keys)
	return nil
}

// queryHash returns a hash of the parts of a query that must be the same for all pages.
func (q Bound) queryHash() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %q %v", q.Type.Name, q.AsOf.Text, q.History)
	for _, s := range q.Sort {
		fmt.Fprintf(h, " %v %s %s", s.Desc, s.Path.On.Name, s.Path.Text)
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// keys returns the sort keys in a cursor. It returns false for invalid text and for a cursor of
// another query.
func (p *Plan) keys(cursor string) ([]any, bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, false
	}
	var list []string
	if json.Unmarshal(text, &list) != nil || len(list) != len(p.Order)+1 || list[0] != p.queryHash {
		return nil, false
	}
	keys := make([]any, len(p.Order))
	for i := range keys {
		var ok bool
		if keys[i], ok = keyOf(list[i+1]); !ok {
			return nil, false
		}
	}
	return keys, true
}

// afterKeys returns the condition that a row comes after the row with these keys. The first key
// that differs must be greater, or less if its order is descending. Null comes before every value.
// A second condition compares only the first key, so that the database can start in the middle of
// an index.
func afterKeys(order []Order, keys []any) []Expr {
	var alts Any
	var equal All
	for i, o := range order {
		if x := afterKey(o, keys[i]); x != nil {
			alts = append(alts, append(append(All{}, equal...), x))
		}
		equal = append(equal, same(o.X, keys[i]))
	}
	all := []Expr{alts}
	if len(order) > 1 && keys[0] != nil && !order[0].Desc {
		all = append(all, Compare{">=", order[0].X, Arg{keys[0]}})
	}
	return all
}

func same(x Expr, key any) Expr {
	if key == nil {
		return IsNull{x, false}
	}
	return Compare{"=", x, Arg{key}}
}

// afterKey returns the condition that the value of o.X comes after key. It returns nil if no value
// comes after key.
func afterKey(o Order, key any) Expr {
	switch {
	case key == nil && o.Desc:
		return nil
	case key == nil:
		return IsNull{o.X, true}
	case !o.Desc:
		return Compare{">", o.X, Arg{key}}
	case isNeverNull(o.X):
		return Compare{"<", o.X, Arg{key}}
	}
	return Any{Compare{"<", o.X, Arg{key}}, IsNull{o.X, false}}
}

// decodeAfter reads the cursor of a page. isText is false if the client's value is no string, which
// is an error.
func decodeAfter(p *Page, t Text, isText bool) error {
	if !isText {
		return badPage(t.At, "after "+t.Text)
	}
	p.After = &t
	return nil
}
