package bulk

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset"
)

// key appends a key of a JSON object and a colon. A comma comes first unless the object is empty.
func key(b []byte, name string) []byte {
	if n := len(b); n > 0 && b[n-1] != '{' {
		b = append(b, ',')
	}
	return append(value.AppendString(b, name), ':')
}

// appendNode appends a document as JSON. A YAML number that is not valid JSON becomes a string.
func appendNode(b []byte, n *document.Node) []byte {
	switch n.Kind {
	case document.Null:
		return append(b, "null"...)
	case document.Bool:
		return append(b, n.Text...)
	case document.Number:
		if jsontext.Value(n.Text).IsValid() {
			return append(b, n.Text...)
		}
		return value.AppendString(b, n.Text)
	case document.List:
		b = append(b, '[')
		for i := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNode(b, &n.Items[i])
		}
		return append(b, ']')
	case document.Map:
		b = append(b, '{')
		for i, name := range n.Keys {
			b = appendNode(key(b, name), &n.Items[i])
		}
		return append(b, '}')
	}
	return value.AppendString(b, n.Text)
}

// appendStep appends the projected command of a step, without its alias.
func appendStep(b []byte, s *step) []byte {
	switch {
	case s.kind == kindCreate:
		return appendCreate(b, s)
	case s.printsNode():
		return appendNode(b, s.node)
	case s.kind == kindUpdate:
		b = value.AppendString(append(b, `{"oid":`...), s.from.String())
		b = append(b, `,"update":{`...)
		for _, f := range s.fields {
			b = appendUpdateValue(key(b, f.name), f.node, s.takesSeveral(f.name))
		}
		return append(b, '}', '}')
	}
	b = value.AppendString(append(b, `{"oid":`...), s.from.String())
	b = value.AppendString(append(b, `,"execute":{"op":`...), s.op)
	b = append(b, `,"args":{`...)
	for _, f := range s.args {
		b = appendNode(key(b, f.name), f.node)
	}
	return append(b, '}', '}', '}')
}

func appendCreate(b []byte, s *step) []byte {
	typ, _ := s.node.Get("AssetType")
	b = appendNode(append(b, `{"AssetType":`...), typ)
	if !s.context.IsZero() {
		b = value.AppendString(append(b, `,"#ContextOid":`...), tokenOf(s.context))
	}
	for _, f := range s.fields {
		b = appendNode(key(b, f.name), f.node)
	}
	return append(b, '}')
}

// tokenOf returns the Oid token or the alias of an asset, for messages.
func tokenOf(ref asset.Ref) string {
	switch {
	case ref.Token != "":
		return ref.Token
	case ref.Handle != nil:
		if ref.Handle.Alias == "" && ref.Handle.Name != nil {
			ref.Handle.Alias = ref.Handle.Name()
		}
		return ref.Handle.Alias
	}
	return ref.OID.String()
}

// appendUpdateValue appends a value of an update as {add, remove}. Other objects, such as
// {find, replace}, are not converted.
func appendUpdateValue(b []byte, n *document.Node, multi bool) []byte {
	if n.Kind == document.Map {
		if add, remove, ok := addRemove(n, multi); ok {
			b = appendList(append(b, `{"add":`...), add)
			b = appendList(append(b, `,"remove":`...), remove)
			return append(b, '}')
		}
		return appendNode(b, n)
	}
	b = append(b, `{"add":`...)
	b = appendList(b, membersOf(n, multi))
	return append(b, `,"remove":[]}`...)
}

func appendList(b []byte, all []document.Node) []byte {
	return appendNode(b, &document.Node{Kind: document.List, Items: all})
}

// membersOf returns the items of a list, or a single value as a list. For an attribute with
// several values (multi), null and "" are an empty list.
func membersOf(n *document.Node, multi bool) []document.Node {
	switch {
	case n.Kind == document.List:
		return n.Items
	case multi && (n.Kind == document.Null || n.Kind == document.String && n.Text == ""):
		return nil
	}
	return []document.Node{*n}
}
