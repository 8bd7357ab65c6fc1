package bulk

import (
	"errors"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/token"
	"github.com/alds-dev/alds/internal/write/asset"
)

// subquery returns the Oids that a query in the place of a value finds. If the parameter one is
// true, it returns only the first Oid.
type subquery func(n *document.Node, one bool) ([]asset.Value, error)

// change converts a field to a change. multi is true if the attribute can have several values.
// ask answers subqueries. Change.Bad is asset.ErrForm for a value of an unknown form, and for a
// subquery that must find an asset and finds none. In both cases only the command fails.
func change(f field, multi bool, ask subquery) (asset.Change, error) {
	ch := asset.Change{Name: f.name, At: f.node.At}
	n := f.node
	var err error
	switch {
	case n.IsScalar():
		ch.Set = []asset.Value{asset.ValueOf(n)}
	case n.Kind == document.List && len(n.Items) == 0 && !multi:
		ch.Bad = asset.ErrForm
	case n.Kind == document.List && multi:
		ch.Add, err = values(n.Items, multi, ask)
	case n.Kind == document.List:
		ch.Set, err = values(n.Items, multi, ask)
	case isSubquery(n) && multi:
		ch.Add, err = ask(n, false)
	case isSubquery(n):
		ch.Set, err = ask(n, true)
	default:
		err = changeMap(&ch, n, multi, ask)
	}
	if errors.Is(err, asset.ErrForm) {
		ch.Bad, err = asset.ErrForm, nil
	}
	return ch, err
}

// changeMap reads a change that is an object. It accepts the forms {add, remove}, {Before},
// {After} and {find, replace}. Errors: asset.ErrForm for any other object.
func changeMap(ch *asset.Change, n *document.Node, multi bool, ask subquery) error {
	if add, remove, ok := addRemove(n, multi); ok {
		var err error
		if ch.Add, err = values(add, multi, ask); err == nil {
			ch.Remove, err = values(remove, multi, ask)
		}
		return err
	}
	if len(n.Keys) == 1 && n.Items[0].IsScalar() && (n.Keys[0] == "Before" || n.Keys[0] == "After") {
		v := asset.ValueOf(&n.Items[0])
		ch.Neighbour, ch.After = &v, n.Keys[0] == "After"
		return nil
	}
	find, replace, ok := findReplace(n)
	if !ok {
		return asset.ErrForm
	}
	v := asset.ValueOf(find)
	ch.Find, ch.Replace = &v, asset.ValueOf(replace)
	return nil
}

// values returns the values of a list. A subquery adds the Oids that it finds.
// Errors: asset.ErrForm for an item of another form; the errors of the function ask.
func values(list []document.Node, multi bool, ask subquery) ([]asset.Value, error) {
	all := make([]asset.Value, 0, len(list))
	for i := range list {
		n := &list[i]
		switch {
		case n.IsScalar():
			all = append(all, asset.ValueOf(n))
		case isSubquery(n):
			found, err := ask(n, !multi)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		default:
			return nil, asset.ErrForm
		}
	}
	return all, nil
}

// addRemove reads {add, remove} and {"Member:20": "add", "@x": "remove"}. multi is true if the
// attribute can have several values. ok is true if n has one of these forms.
func addRemove(n *document.Node, multi bool) (add, remove []document.Node, ok bool) {
	if n.Kind != document.Map || len(n.Keys) == 0 {
		return nil, nil, false
	}
	for i, name := range n.Keys {
		v := &n.Items[i]
		switch {
		case name == "add":
			add = append(add, membersOf(v, multi)...)
		case name == "remove":
			remove = append(remove, membersOf(v, multi)...)
		case v.Kind == document.String && (v.Text == "add" || v.Text == "remove") &&
			(oid.IsToken(name) || strings.HasPrefix(name, "@")):
			member := document.Node{Kind: document.String, Text: name, At: v.At}
			if v.Text == "add" {
				add = append(add, member)
			} else {
				remove = append(remove, member)
			}
		default:
			return nil, nil, false
		}
	}
	return add, remove, true
}

// findReplace reads {find, replace}, where both values are scalars.
func findReplace(n *document.Node) (find, replace *document.Node, ok bool) {
	find, has := n.Get("find")
	replace, also := n.Get("replace")
	if !has || !also || len(n.Keys) != 2 || !find.IsScalar() || !replace.IsScalar() {
		return nil, nil, false
	}
	return find, replace, true
}

func isSubquery(n *document.Node) bool {
	if n.Kind != document.Map {
		return false
	}
	_, ok := n.Get("from")
	return ok
}

// hasSubquery reports whether a value is or contains a subquery.
func hasSubquery(n *document.Node) bool {
	if isSubquery(n) {
		return true
	}
	for i := range n.Items {
		if !n.Items[i].IsScalar() && hasSubquery(&n.Items[i]) {
			return true
		}
	}
	return false
}

// namesAlias reports whether a node refers to one of the aliases. The definition of an alias by
// a nested create does not count.
func namesAlias(n *document.Node, aliases map[string]bool) bool {
	if n.Kind == document.String {
		return strings.HasPrefix(n.Text, "@") && aliases[n.Text]
	}
	for i := range n.Items {
		if namesAlias(&n.Items[i], aliases) {
			return true
		}
	}
	for i, k := range n.Keys {
		if strings.HasPrefix(k, "@") && aliases[k] && n.Items[i].IsScalar() {
			return true
		}
	}
	return false
}

// comparesAlias reports whether the query of a command compares an attribute with one of the
// aliases. The alias is a value of the key where or with, or it is in quotes in another text
// of the query.
func comparesAlias(n *document.Node, aliases map[string]bool) bool {
	if len(aliases) == 0 {
		return false
	}
	for i, k := range n.Keys {
		if k != "update" && k != "execute" && (quotesAlias(k, aliases) || valueHasAlias(&n.Items[i], aliases)) {
			return true
		}
	}
	return false
}

// valueHasAlias does the same as comparesAlias for one part of a query.
func valueHasAlias(n *document.Node, aliases map[string]bool) bool {
	if n.Kind == document.String {
		list := strings.Split(n.Text, ",") // the value of a variable may be a list
		return slices.ContainsFunc(list, func(s string) bool { return aliases[s] }) || quotesAlias(n.Text, aliases)
	}
	for i := range n.Items {
		if n.Kind == document.Map && quotesAlias(n.Keys[i], aliases) || valueHasAlias(&n.Items[i], aliases) {
			return true
		}
	}
	return false
}

// quotesAlias reports whether a text contains one of the aliases in quotes.
func quotesAlias(text string, aliases map[string]bool) bool {
	if !strings.Contains(text, "'@") && !strings.Contains(text, `"@`) {
		return false
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\'' && text[i] != '"' {
			continue
		}
		name, end := token.Quoted(text, i)
		if end < 0 {
			return false
		}
		if aliases[name] {
			return true
		}
		i = end - 1
	}
	return false
}
