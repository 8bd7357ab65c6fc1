package query

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
)

// WholePage is the page size that stands for "no limit". Answers in the rest-1 form show this
// number.
const WholePage = math.MaxInt32

// FromDocs reads a body of query.v1: one query, a list of queries, or several documents.
// Errors: fault.Invalid with the place in the body.
func FromDocs(nodes []document.Node) ([]Request, error) {
	var all []Request
	for i := range nodes {
		list := nodes[i : i+1]
		if nodes[i].Kind == document.List {
			list = nodes[i].Items
		}
		for k := range list {
			r, err := FromDoc(&list[k])
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// FromDoc reads one query from a map. It ignores the keys in also, which the caller reads. Any
// other unknown key is an error.
// Errors: fault.Invalid with the place in the body.
// Spec: interface 4.3, query keys.
func FromDoc(n *document.Node, also ...string) (Request, error) {
	d := decoder{also: also}
	return d.request(n, "root", 0)
}

type decoder struct {
	also []string
}

// keys maps a key of a query to the function that decodes its value.
var keys = map[string]func(*Request, *document.Node) error{
	"where":   decodeWhere,
	"filter":  func(r *Request, n *document.Node) (err error) { r.Filter, err = texts(n, "filter"); return err },
	"with":    decodeWith,
	"sort":    func(r *Request, n *document.Node) (err error) { r.Sort, err = texts(n, "sort"); return err },
	"find":    decodeFind,
	"findin":  func(r *Request, n *document.Node) (err error) { r.FindIn, err = texts(n, "findin"); return err },
	"page":    decodePage,
	"asof":    decodeAsOf,
	"total":   func(r *Request, n *document.Node) (err error) { r.Total, err = yes(n, "total"); return err },
	"explain": func(r *Request, n *document.Node) (err error) { r.Explain, err = yes(n, "explain"); return err },
}

func (d decoder) request(n *document.Node, path string, depth int) (Request, error) {
	if n.Kind != document.Map {
		return Request{}, badForm(n.At, path, "an object with the keys of a query")
	}
	if depth > MaxNested {
		return Request{}, tooMany(n.At, "selects inside each other", MaxNested)
	}
	var r Request
	from, ok := n.Get("from")
	if !ok {
		return Request{}, badForm(n.At, "from", "given")
	}
	var err error
	if r.From, err = text(from, "from"); err != nil {
		return Request{}, err
	}
	for i, key := range n.Keys {
		v := &n.Items[i]
		switch decode := keys[key]; {
		case key == "from":
		case key == "select":
			r.Select, err = d.items(v, path+"->select", depth)
		case depth > 0 && (key == "with" || key == "total" || key == "explain" || key == "group"):
			err = invalidKey(v.At, path, key)
		case key == "group":
			r.Group, err = d.groups(v)
		case decode != nil:
			err = decode(&r, v)
		case depth == 0 && slices.Contains(d.also, key):
		default:
			err = invalidKey(v.At, path, key)
		}
		if err != nil {
			return Request{}, err
		}
	}
	return r, nil
}

func (d decoder) items(n *document.Node, path string, depth int) ([]Item, error) {
	if n.Kind == document.String {
		return []Item{{Text: textOf(n)}}, nil
	}
	if n.Kind != document.List {
		return nil, badForm(n.At, "select", "a list of tokens")
	}
	list := make([]Item, 0, len(n.Items))
	for i := range n.Items {
		v := &n.Items[i]
		if v.Kind != document.Map {
			t, err := text(v, "select")
			if err != nil {
				return nil, err
			}
			list = append(list, Item{Text: t})
			continue
		}
		sub, err := d.request(v, path, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, Item{Sub: &sub})
	}
	return list, nil
}

// groups reads the value of the key group: a list of objects, or one object.
func (d decoder) groups(n *document.Node) ([]Request, error) {
	if n.Kind == document.Map {
		n = &document.Node{Kind: document.List, Items: []document.Node{*n}, At: n.At}
	}
	if n.Kind != document.List {
		return nil, badForm(n.At, "group", "a list of objects with from and select")
	}
	if len(n.Items) > MaxNested {
		return nil, tooMany(n.Items[MaxNested].At, "groups inside each other", MaxNested)
	}
	list := make([]Request, 0, len(n.Items))
	for i := range n.Items {
		v := &n.Items[i]
		if v.Kind != document.Map {
			return nil, badForm(v.At, "group", "a list of objects with from and select")
		}
		for k, key := range v.Keys {
			if key != "from" && key != "select" {
				return nil, invalidKey(v.Items[k].At, "root->group", key)
			}
		}
		r, err := d.request(v, "root->group", 1)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func yes(n *document.Node, key string) (bool, error) {
	if n.Kind != document.Bool {
		return false, badForm(n.At, key, "true or false")
	}
	return n.Text == "true", nil
}

func text(n *document.Node, key string) (Text, error) {
	if n.Kind != document.String {
		return Text{}, badForm(n.At, key, "text")
	}
	return textOf(n), nil
}

func textOf(n *document.Node) Text { return Text{n.Text, n.At, n.Written} }

// texts reads a list of texts, or one text.
func texts(n *document.Node, key string) ([]Text, error) {
	if n.Kind != document.List {
		t, err := text(n, key)
		return []Text{t}, err
	}
	list := make([]Text, 0, len(n.Items))
	for i := range n.Items {
		t, err := text(&n.Items[i], key)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func decodeWhere(r *Request, n *document.Node) error {
	if n.Kind != document.Map {
		return badForm(n.At, "where", "an object of attributes and values")
	}
	for i, key := range n.Keys {
		v := &n.Items[i]
		if !v.IsScalar() {
			return notScalar(v.At, key)
		}
		r.Where = append(r.Where, Pair{Token: Text{Text: key, At: fault.NoPlace}, Value: textOf(v)})
	}
	return nil
}

// decodeWith reads the variables of a query. A list is used unchanged; a string is split at commas.
func decodeWith(r *Request, n *document.Node) error {
	if n.Kind != document.Map {
		return badForm(n.At, "with", "an object of variables and values")
	}
	r.With = make(map[string][]string, len(n.Keys))
	for i, key := range n.Keys {
		v := &n.Items[i]
		name := strings.TrimPrefix(key, "$")
		if _, twice := r.With[name]; twice {
			return invalidKey(v.At, "root->with", key)
		}
		switch {
		case v.Kind == document.String:
			r.With[name] = strings.Split(v.Text, ",")
		case v.IsScalar():
			r.With[name] = []string{v.Text}
		case v.Kind == document.List:
			for k := range v.Items {
				if !v.Items[k].IsScalar() {
					return notScalar(v.Items[k].At, key)
				}
				r.With[name] = append(r.With[name], v.Items[k].Text)
			}
		default:
			return notScalar(v.At, key)
		}
	}
	return nil
}

func decodeFind(r *Request, n *document.Node) error {
	if n.Kind == document.List && len(n.Items) == 1 {
		n = &n.Items[0]
	}
	if !n.IsScalar() {
		return badForm(n.At, "find", "text")
	}
	r.Find = n.Text
	return nil
}

func decodeAsOf(r *Request, n *document.Node) (err error) {
	r.AsOf, err = text(n, "asof")
	if err == nil && r.AsOf.Text == "" {
		err = noDate(r.AsOf)
	}
	return err
}

// decodePage reads an object with start, size and after, or the text "size,start" as in a URL.
func decodePage(r *Request, n *document.Node) error {
	if n.Kind == document.String || n.Kind == document.Number {
		p, ok := pageText(n.Text)
		if !ok {
			return badPage(n.At, n.Text)
		}
		r.Page = p
		return nil
	}
	if n.Kind != document.Map {
		return badForm(n.At, "page", "an object with start and size")
	}
	r.Page = &Page{Size: WholePage}
	for i, key := range n.Keys {
		v := &n.Items[i]
		var to *int64
		switch key {
		case "start":
			to = &r.Page.Start
		case "size":
			to = &r.Page.Size
		case "after":
			if err := decodeAfter(r.Page, textOf(v), v.Kind == document.String); err != nil {
				return err
			}
		default:
			return invalidKey(v.At, "root->page", key)
		}
		if i > 0 && (key == "start" && r.Page.After != nil || key == "after" && slices.Contains(n.Keys[:i], "start")) {
			return bothStarts(v.At)
		}
		if to == nil {
			continue
		}
		n, ok := natural(v.Text)
		if !ok || !v.IsScalar() {
			return badPage(v.At, key+" "+v.Text)
		}
		*to = n
	}
	if r.Page.After != nil && r.Page.Size == 0 {
		return badPage(n.At, "size 0")
	}
	return nil
}

// pageText reads "size" or "size,start". It returns false for any other text.
func pageText(s string) (*Page, bool) {
	size, start, hasStart := strings.Cut(s, ",")
	p := &Page{}
	var ok bool
	if p.Size, ok = natural(strings.TrimSpace(size)); !ok {
		return nil, false
	}
	if hasStart {
		p.Start, ok = natural(strings.TrimSpace(start))
	}
	return p, ok
}

func natural(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 62)
	return int64(n), err == nil
}
