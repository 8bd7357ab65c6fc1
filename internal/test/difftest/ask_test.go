package difftest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/token"
)

// ask is one query, in the form in which a client writes it.
type ask struct {
	From   string            `json:"from"`
	Select []any             `json:"select,omitempty"` // each is a string or an *ask
	Where  map[string]string `json:"where,omitempty"`
	Filter []string          `json:"filter,omitempty"`
	With   map[string]any    `json:"with,omitempty"` // each is a string or a []string
	Sort   []string          `json:"sort,omitempty"`
	Find   string            `json:"find,omitempty"`
	FindIn []string          `json:"findin,omitempty"`
	Page   *page             `json:"page,omitempty"`
	AsOf   string            `json:"asof,omitempty"`
}

type page struct {
	Start int `json:"start"`
	Size  int `json:"size"`
}

func (a *ask) String() string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	must(enc.Encode(a))
	return strings.TrimSpace(b.String())
}

// evaluator computes the answers to queries about one world, for one member.
type evaluator struct {
	w       *world
	who     auth.Actor
	with    map[string][]string
	moments bool // true: Oids of rows contain the moment

	shared map[int64]bool // result of sharing; nil: not computed yet
}

// answer returns the rows that answer a query, as JSON.
func answer(w *world, who auth.Actor, a *ask) string {
	e := &evaluator{w: w, who: who, with: variables(a.With), moments: a.AsOf != ""}
	f := e.from(a.From)
	kept := e.choose(f, a, e.candidates(f, a.AsOf), e.wants(a, f))
	if a.Page != nil {
		start := min(a.Page.Start, len(kept))
		kept = kept[start:min(start+a.Page.Size, len(kept))]
	}
	return string(e.rows(nil, f, a, kept))
}

// variables returns the values of each variable in with. A string is split at commas, a list is not.
func variables(with map[string]any) map[string][]string {
	all := map[string][]string{}
	for name, v := range with {
		name = strings.TrimPrefix(name, "$")
		switch v := v.(type) {
		case string:
			all[name] = strings.Split(v, ",")
		case []string:
			all[name] = v
		}
	}
	return all
}

// from is the parsed "from" of a query: a type or one asset, with an optional filter.
type from struct {
	typ    *meta.Type
	id     *int64
	filter *token.Filter
}

func (e *evaluator) from(s string) from {
	var f from
	if o, err := oid.Parse(s); err == nil {
		f.typ, _ = e.w.m.Type(o.Type)
		id := f.typ.Stored(o.ID)
		f.id = &id
		return f
	}
	src, err := token.Parse(s)
	must(err)
	h := src.Hops[0]
	f.typ, _ = e.w.m.Type(h.Name)
	if h.Down != "" {
		f.typ, _ = e.w.m.Type(h.Down)
	}
	f.filter = h.Filter
	return f
}

// candidates returns the assets of f that the member sees, at the time of asof, sorted by id. If asof is
// All, it returns all versions of these assets, sorted by id and moment.
func (e *evaluator) candidates(f from, asof string) []node {
	var all []node
	switch asof {
	case "":
		all = e.w.at(current).nodes()
	case "All":
		for _, versions := range e.w.versions {
			for _, x := range versions {
				all = append(all, e.w.ofItself(x)...)
			}
		}
		slices.SortFunc(all, func(a, b node) int {
			return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.moment, b.moment))
		})
	default:
		all = e.w.at(e.w.momentOf(instant(asof))).nodes()
	}
	return slices.DeleteFunc(all, func(n node) bool {
		return !n.typ.IsA(f.typ) || f.id != nil && *f.id != n.id || !e.sees(n)
	})
}

// wants reports whether the conditions of a query ask for deleted assets. Other queries hide them.
func (e *evaluator) wants(a *ask, f from) bool {
	for name := range a.Where {
		if lifts(e.w.m, f.typ, parse(name)) {
			return true
		}
	}
	return slices.ContainsFunc(a.Filter, func(s string) bool { return lifts(e.w.m, f.typ, parse(s)) }) ||
		f.filter != nil && lifts(e.w.m, f.typ, *f.filter)
}

func parse(s string) token.Filter {
	f, err := token.ParseFilter(s)
	must(err)
	return f
}

// choose returns the candidates that match where, filter and find, in the order of sort. Candidates that
// sort equally keep their order.
func (e *evaluator) choose(f from, a *ask, candidates []node, withDeleted bool) []node {
	var kept []node
	for _, n := range candidates {
		if (withDeleted || !n.gone()) && e.fits(f, a, n) {
			kept = append(kept, n)
		}
	}
	for _, s := range slices.Backward(a.Sort) {
		s, desc := strings.CutPrefix(s, "-")
		p := e.sortPath(f.typ, strings.TrimPrefix(s, "+"))
		slices.SortStableFunc(kept, func(x, y node) int {
			c := order(e.values(x, x, p, toList)[0], e.values(y, y, p, toList)[0])
			if desc {
				return -c
			}
			return c
		})
	}
	return kept
}

// sortPath returns the path whose values a sort token compares. For a relation this is the default order of
// the related type.
func (e *evaluator) sortPath(on *meta.Type, s string) path {
	p := bindText(e.w.m, on, s)
	if p.kind != meta.Relation {
		return p
	}
	a, ok := p.to.Attr(p.to.OrderBy)
	if !ok || a.Kind == meta.Relation {
		a, _ = p.to.Attr("Key")
	}
	p.leaf = leaf{attr: a}
	return p
}

func (e *evaluator) fits(f from, a *ask, n node) bool {
	if f.filter != nil && !e.holds(n, n, f.typ, *f.filter) {
		return false
	}
	for name, v := range a.Where {
		t := token.Term{Test: token.Eq, Values: []token.Value{{Text: v}}}
		if name, ok := strings.CutPrefix(v, "$"); ok && e.with[name] != nil {
			t.Values[0] = token.Value{Kind: token.Var, Text: name}
		}
		var err error
		t.Path, err = token.Parse(name)
		must(err)
		if !e.holds(n, n, f.typ, token.Filter{Term: t}) {
			return false
		}
	}
	for _, s := range a.Filter {
		if !e.holds(n, n, f.typ, parse(s)) {
			return false
		}
	}
	return a.Find == "" || e.found(f, a, n)
}

// found reports whether one of the attributes of n contains the text of find.
func (e *evaluator) found(f from, a *ask, n node) bool {
	in := a.FindIn
	if len(in) == 0 {
		for _, name := range []string{"Name", "Description", "Number"} {
			has := func(t *meta.Type) bool { _, ok := t.Attr(name); return ok }
			if has(f.typ) || slices.ContainsFunc(f.typ.Concrete, has) {
				in = append(in, name)
			}
		}
	}
	for _, name := range in {
		for _, v := range e.values(n, n, bindText(e.w.m, f.typ, name), toTest) {
			if s, ok := v.(string); ok && contains(s, a.Find, false) {
				return true
			}
		}
	}
	return false
}

// rows appends the rows as JSON, in the form that existing clients expect.
func (e *evaluator) rows(w []byte, f from, a *ask, list []node) []byte {
	w = append(w, '[')
	for i, n := range list {
		if i > 0 {
			w = append(w, ',')
		}
		w = append(w, `{"_oid":"`+n.shown(e.moments)+`"`...)
		for _, item := range a.Select {
			w = e.column(w, f, n, item)
		}
		w = append(w, '}')
	}
	return append(w, ']')
}

func (e *evaluator) column(w []byte, f from, n node, item any) []byte {
	if sub, ok := item.(*ask); ok {
		p := bindText(e.w.m, f.typ, sub.From)
		if p.on != nil && !n.typ.IsA(p.on) {
			return w
		}
		return e.nested(key(w, sub.From), n, sub, p)
	}
	p := bindText(e.w.m, f.typ, item.(string))
	if p.on != nil && !n.typ.IsA(p.on) {
		return w
	}
	w = key(w, item.(string))
	values := e.values(n, n, p, toList)
	if !p.many() {
		return value(w, p, values[0])
	}
	w = append(w, '[')
	for i, v := range values {
		if i > 0 {
			w = append(w, ',')
		}
		w = value(w, p, v)
	}
	return append(w, ']')
}

func key(w []byte, name string) []byte {
	return append(quoted(append(w, ','), name), ':')
}

// nested appends the rows of a select that is inside a select.
func (e *evaluator) nested(w []byte, n node, sub *ask, p path) []byte {
	f := from{typ: p.to}
	steps := slices.Clone(p.steps)
	last := &steps[len(steps)-1]
	last.dead = last.dead || e.wants(sub, f)
	var list []node
	for _, x := range e.follow(n, n, steps, toList) {
		if !x.none() {
			list = append(list, x)
		}
	}
	return e.rows(w, f, sub, e.choose(f, sub, list, true))
}

func quoted(w []byte, s string) []byte {
	w, err := jsontext.AppendQuote(w, s)
	must(err)
	return w
}

// value appends one value, in the form that it has in a row.
func value(w []byte, p path, v any) []byte {
	if p.kind == meta.Relation {
		x, _ := v.(node)
		return append(w, `{"_oid":"`+x.shown(false)+`"}`...)
	}
	switch v := v.(type) {
	case nil:
		return append(w, "null"...)
	case bool:
		return strconv.AppendBool(w, v)
	case float64:
		return append(w, `"`+strconv.FormatFloat(v, 'f', -1, 64)+`"`...)
	case *meta.Type:
		return quoted(w, v.Name)
	case int64:
		return append(w, `"`+whichText(p, v)+`"`...)
	}
	return quoted(w, v.(string))
}

func whichText(p path, v int64) string {
	switch p.kind {
	case meta.Date:
		form := "2006-01-02T15:04:05.000"
		if a := p.leaf.attr; a != nil && a.DateOnly {
			form = "2006-01-02"
		} else if a != nil && a.UTC {
			form = "2006-01-02T15:04:05.0000000Z"
		}
		return time.UnixMicro(v).UTC().Format(form)
	case meta.State:
		if name, ok := stateNames[v]; ok {
			return name
		}
	}
	return strconv.FormatInt(v, 10)
}
