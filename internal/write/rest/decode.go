package rest

import (
	"bytes"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/write/asset"
)

// decode returns the changes in a body, in their order. It returns no changes if the body is
// empty or null. emptied contains the names of the attributes that the body sets to nothing. An
// attribute with several values loses all its values if emptied contains its name. Any other
// empty list changes nothing.
// A body that begins like XML is decoded as XML, whatever its Content-Type is.
// Errors: fault.Invalid.
func decode(body []byte) (changes []asset.Change, emptied []string, err error) {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, nil, nil
	case document.IsXML(body):
		return decodeXML(body)
	}
	return decodeJSON(body)
}

func decodeJSON(body []byte) (changes []asset.Change, emptied []string, err error) {
	docs, err := document.Parse(body, false)
	if err != nil {
		return nil, nil, err
	}
	if len(docs) != 1 || docs[0].Kind != document.Map && docs[0].Kind != document.Null {
		return nil, nil, fault.Invalidf(0, "The body must be an object with Attributes")
	}
	n := &docs[0]
	var attributes *document.Node
	for i, key := range n.Keys {
		switch key {
		case "Attributes":
			attributes = &n.Items[i]
		case "_type", "id", "href": // copied from an asset that the client has read; the path identifies the asset
		default:
			return nil, nil, fault.Invalidf(n.Items[i].At, "Invalid key at node(s): root->%s", key)
		}
	}
	if attributes == nil || attributes.Kind == document.Null {
		return nil, nil, nil
	}
	if attributes.Kind != document.Map {
		return nil, nil, fault.Invalidf(attributes.At, "Attributes must be an object of names and values")
	}
	changes = make([]asset.Change, len(attributes.Keys))
	for i, name := range attributes.Keys {
		item := &attributes.Items[i]
		changes[i] = asset.Change{Name: name, At: item.At}
		read(&changes[i], item)
		if empties(item) {
			emptied = append(emptied, name)
		}
	}
	return changes, emptied, nil
}

// The values of act: what to do with a value.
const (
	actSet    = "set"
	actAdd    = "add"
	actRemove = "remove"
)

// read decodes one attribute into ch. The attribute has one of these forms:
//
//	{"value": "x", "act": "set"}   {"value": [item, ...]}   [item, ...]   "x"
//
// An item is {"idref": "Member:20", "act": "add"}, {"value": "tag"} or the plain value.
func read(ch *asset.Change, n *document.Node) {
	act := ""
	if n.Kind == document.Map {
		if a, ok := n.Get("act"); ok {
			act = a.Text
		}
		inner, ok := n.Get("value")
		if !ok {
			if inner, ok = n.Get("idref"); !ok {
				ch.Bad = asset.ErrForm
				return
			}
		}
		n = inner
	}
	if n.Kind != document.List {
		put(ch, n, act, actSet)
		return
	}
	for i := range n.Items {
		put(ch, &n.Items[i], act, actAdd)
	}
	if len(n.Items) == 0 {
		ch.Add = []asset.Value{}
	}
}

// empties reports whether an attribute is set to nothing, by {"value": [], "act": "set"}. The
// value may also be null or "" instead of the empty list.
func empties(n *document.Node) bool {
	if n.Kind != document.Map {
		return false
	}
	act, _ := n.Get("act")
	v, _ := n.Get("value")
	return act != nil && act.Text == actSet && v != nil && v.Text == "" && len(v.Items) == 0 && v.Kind != document.Map
}

// put adds one value to a change. act is the act of the attribute. If the value has an act
// itself, that act has priority.
func put(ch *asset.Change, n *document.Node, act, defaultAct string) {
	if n.Kind == document.Map {
		if a, ok := n.Get("act"); ok {
			act = a.Text
		}
		inner, ok := n.Get("idref")
		if !ok {
			inner, ok = n.Get("value")
		}
		if !ok {
			ch.Bad = asset.ErrForm
			return
		}
		n = inner
	}
	if !n.IsScalar() {
		ch.Bad = asset.ErrForm
		return
	}
	add(ch, asset.ValueOf(n), act, defaultAct, n.At)
}

// add adds one value to the list Set, Add or Remove of a change. act decides to which list.
// defaultAct is used if act is empty, or if act is "set" and defaultAct is "add". The parameter
// at is the byte offset of the value.
func add(ch *asset.Change, v asset.Value, act, defaultAct string, at int) {
	if act == "" || act == actSet && defaultAct == actAdd {
		act = defaultAct
	}
	empty := v.Kind == asset.Null || v.Kind == asset.Text && v.Text == ""
	switch {
	case act == actSet, empty && defaultAct == actSet && (act == actAdd || act == actRemove):
		ch.Set = append(ch.Set, v)
	case act == actAdd:
		ch.Add = append(ch.Add, v)
	case act == actRemove:
		ch.Remove = append(ch.Remove, v)
	default:
		ch.Bad = fault.Invalidf(at, "Unknown act: %s", act)
	}
}
