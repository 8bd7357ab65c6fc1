package modeltest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// A value in a payload is nil, a bool, a float64, a string, a []any or one of these types.
type (
	// obj is an object whose keys have an order.
	obj []pair
	// pair is a key and a value of an object. If of is not nil, the key is the Oid of that asset.
	pair struct {
		key string
		of  *ref
		val any
	}
	// ref stands for the Oid of an asset that an earlier request created. If no such asset exists, it
	// stands for an Oid that no asset has.
	ref struct{ label, typ string }
	// stood is a place in the ranking, directly after or before the place that an asset had at the start of
	// the request.
	stood struct {
		of    ref
		after bool
	}
	// alias is an alias with its @, for an asset that the same request creates.
	alias string
	// create is a create command. It may be nested in another command.
	create struct {
		label string // label of the asset in the model
		alias string // alias in the payload; empty: none
		typ   string
		attrs obj
	}
	// query is a query whose results are used as a value.
	query struct {
		typ   string
		where obj
	}
)

// rankOf is a special type of a ref. Such a ref stands for the rank of the asset instead of its Oid.
const rankOf = "rank"

// command is one command of a payload. Exactly one of create, update, op, sel and junk is not empty.
type command struct {
	alias  string
	create *create
	from   any // ref, alias, or the name of a type
	where  obj
	update obj
	op     string
	args   []obj // arguments of the operation; if there are several, the operation has a list of them
	sel    []string
	more   string // filter of the query, such as Custom_Weight>'2'
	sort   string // custom attribute by which the query is sorted; with a leading minus: descending
	junk   string // text of a command that always fails
	want   string // expected message if junk is not empty
}

// request is a bulk request, with its options.
type request struct {
	by       string // label of the member who sends it
	atomic   bool
	counts   bool // true: the response has counts only
	most     int  // maxAffected; 0: no limit
	imports  bool // true: creates may set CreatedBy
	yaml     bool
	preview  bool // true: the test posts the projection of the request instead of the request
	grown    bool // true: the sequence has custom attributes
	commands []*command
}

// config reports whether the payload begins with a config document.
func (r *request) config() bool { return r.atomic || r.counts || r.most > 0 || r.imports }

// nobody returns an Oid that no asset has.
func nobody(r ref) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.label))
	return fmt.Sprintf("%s:%d", r.typ, 1<<40+int64(h.Sum32()))
}

// writer converts payloads to text. token returns the Oid for a ref.
type writer struct {
	strings.Builder
	token func(r ref) string
}

func (r *request) text(token func(ref) string) string {
	w := &writer{token: token}
	w.WriteString("[")
	if r.config() {
		fmt.Fprintf(w, `{"config": {"atomic": %v, "counts-only": %v`, r.atomic, r.counts)
		if r.most > 0 {
			fmt.Fprintf(w, `, "maxAffected": %d`, r.most)
		}
		if r.imports {
			w.WriteString(`, "import": true`)
		}
		w.WriteString("}}")
	}
	for i, c := range r.commands {
		if i > 0 || r.config() {
			w.WriteString(",\n ")
		}
		w.command(c)
	}
	w.WriteString("]")
	return w.String()
}

func (w *writer) command(c *command) {
	if c.junk != "" {
		w.WriteString(c.junk)
		return
	}
	if c.create != nil {
		w.value(c.create)
		return
	}
	if c.alias != "" {
		fmt.Fprintf(w, "{%q: ", c.alias)
	}
	w.WriteString(`{"from": `)
	w.value(c.from)
	if c.where != nil {
		w.WriteString(`, "where": `)
		w.value(c.where)
	}
	switch {
	case c.update != nil:
		w.WriteString(`, "update": `)
		w.value(c.update)
	case c.sel != nil:
		w.WriteString(`, "select": `)
		b, _ := json.Marshal(c.sel)
		w.Write(b)
		w.ordered(c)
	case c.args == nil:
		fmt.Fprintf(w, `, "execute": %q`, c.op)
	case len(c.args) == 1:
		fmt.Fprintf(w, `, "execute": {"op": %q, "args": `, c.op)
		w.value(c.args[0])
		w.WriteString("}")
	default:
		fmt.Fprintf(w, `, "execute": {"op": %q, "list": [`, c.op)
		for i, a := range c.args {
			if i > 0 {
				w.WriteString(", ")
			}
			w.value(a)
		}
		w.WriteString("]}")
	}
	w.WriteString("}")
	if c.alias != "" {
		w.WriteString("}")
	}
}

// ordered writes the filter and the sort order of a query.
func (w *writer) ordered(c *command) {
	if c.more != "" {
		fmt.Fprintf(w, `, "filter": [%q]`, c.more)
	}
	if c.sort != "" {
		fmt.Fprintf(w, `, "sort": [%q]`, c.sort)
	}
}

func (w *writer) value(v any) {
	switch x := v.(type) {
	case ref:
		w.WriteString(strconv.Quote(w.token(x)))
	case alias:
		w.WriteString(strconv.Quote(string(x)))
	case stood:
		w.WriteString(strconv.Quote(w.token(ref{x.of.label, rankOf}) + map[bool]string{true: "+", false: "-"}[x.after]))
	case obj:
		w.object(x)
	case []any:
		w.WriteString("[")
		for i, item := range x {
			if i > 0 {
				w.WriteString(", ")
			}
			w.value(item)
		}
		w.WriteString("]")
	case *create:
		if x.alias != "" {
			fmt.Fprintf(w, "{%q: ", x.alias)
		}
		w.object(append(obj{{key: "AssetType", val: x.typ}}, x.attrs...))
		if x.alias != "" {
			w.WriteString("}")
		}
	case query:
		w.object(obj{{key: "from", val: x.typ}, {key: "where", val: x.where}})
	default:
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		w.Write(b)
	}
}

func (w *writer) object(o obj) {
	w.WriteString("{")
	for i, p := range o {
		if i > 0 {
			w.WriteString(", ")
		}
		key := p.key
		if p.of != nil {
			key = w.token(*p.of)
		}
		fmt.Fprintf(w, "%q: ", key)
		w.value(p.val)
	}
	w.WriteString("}")
}

// aliases returns all aliases that the payload defines.
func (r *request) aliases() map[alias]bool {
	all := map[alias]bool{}
	for _, c := range r.commands {
		if c.create != nil {
			c.create.define(all)
		}
		c.update.define(all)
	}
	return all
}

func (c *create) define(all map[alias]bool) {
	if c.alias != "" {
		all[alias(c.alias)] = true
	}
	c.attrs.define(all)
}

// define adds to all the aliases that creates nested in the object define.
func (o obj) define(all map[alias]bool) {
	for _, p := range o {
		for _, v := range list(p.val) {
			if inner, ok := v.(*create); ok {
				inner.define(all)
			}
		}
	}
}

// list returns v if it is a list, and otherwise a list with v.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// names reports whether a value contains one of the aliases.
func names(v any, all map[alias]bool) bool {
	switch x := v.(type) {
	case alias:
		return all[x]
	case obj:
		for _, p := range x {
			if names(p.val, all) || all[alias(p.key)] {
				return true
			}
		}
	case []any:
		for _, item := range x {
			if names(item, all) {
				return true
			}
		}
	case *create:
		return names(x.attrs, all)
	case query:
		return names(x.where, all)
	}
	return false
}
