package rest

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/write/asset"
)

// The names of the elements in a body in XML.
const (
	elementAsset     = "Asset"
	elementAttribute = "Attribute"
	elementRelation  = "Relation"
	elementValue     = "Value"
)

// decodeXML returns the changes in a body in XML, in their order.
//
//	<Asset>
//	  <Attribute name="Name" act="set">x</Attribute>
//	  <Attribute name="TaggedWith"><Value act="add">a</Value><Value act="remove">b</Value></Attribute>
//	  <Relation name="Scope" act="set"><Asset idref="Scope:0"/></Relation>
//	  <Relation name="Owners"><Asset idref="Member:20" act="add"/></Relation>
//	</Asset>
//
// An element without a value clears its attribute. To clear an attribute with several values, the
// element must also have act="set". emptied is as in decode.
// Errors: fault.Invalid.
func decodeXML(body []byte) (changes []asset.Change, emptied []string, err error) {
	root, err := document.ParseXML(body)
	if err != nil {
		return nil, nil, err
	}
	if root.Name != elementAsset {
		return nil, nil, fault.Invalidf(root.At, "The body must be an Asset with Attributes and Relations")
	}
	if err := checkChildren(&root, "root", elementAttribute, elementRelation); err != nil {
		return nil, nil, err
	}
	changes = make([]asset.Change, len(root.Children))
	seen := make(map[string]struct{}, len(root.Children))
	for i := range root.Children {
		e := &root.Children[i]
		name, ok := e.Get("name")
		if !ok {
			return nil, nil, fault.Invalidf(e.At, "%s must have a name", e.Name)
		}
		if _, twice := seen[name.Value]; twice {
			return nil, nil, fault.Invalidf(name.At, "The attribute %q comes twice", name.Value)
		}
		seen[name.Value] = struct{}{}
		ch := &changes[i]
		ch.Name, ch.At = name.Value, e.TextAt
		if err := readXML(ch, e); err != nil {
			return nil, nil, err
		}
		if actOf(e, "") == actSet && len(e.Children) == 0 && e.Text == "" {
			emptied = append(emptied, name.Value)
		}
	}
	return changes, emptied, nil
}

// checkChildren checks that all children of an element have one of the names, and that the text
// of the element is only white space. path is the path of the element, for messages.
// Errors: fault.Invalid.
func checkChildren(e *document.Element, path string, names ...string) error {
	if strings.TrimSpace(e.Text) != "" {
		return fault.Invalidf(e.TextAt, "Text at node(s): %s", path)
	}
	for i := range e.Children {
		c := &e.Children[i]
		if !slices.Contains(names, c.Name) {
			return fault.Invalidf(c.At, "Invalid key at node(s): %s->%s", path, c.Name)
		}
	}
	return nil
}

// readXML decodes one attribute or relation into ch.
func readXML(ch *asset.Change, e *document.Element) error {
	act, path := actOf(e, ""), "root->"+e.Name
	if e.Name == elementRelation {
		if err := checkChildren(e, path, elementAsset); err != nil {
			return err
		}
		return readAssets(ch, e, act, path)
	}
	if len(e.Children) == 0 {
		add(ch, valueOf(e), act, actSet, e.TextAt)
		return nil
	}
	if err := checkChildren(e, path, elementValue); err != nil {
		return err
	}
	for i := range e.Children {
		v := &e.Children[i]
		if err := checkLeaf(v, path); err != nil {
			return err
		}
		add(ch, valueOf(v), actOf(v, act), actAdd, v.TextAt)
	}
	return nil
}

// readAssets decodes the assets of a relation into ch. If there are no assets, the relation is
// cleared. A single asset has the default act "set", because the relation may be to-one. Several
// assets have the default act "add".
func readAssets(ch *asset.Change, e *document.Element, act, path string) error {
	if len(e.Children) == 0 {
		add(ch, asset.Value{}, act, actSet, e.At)
		return nil
	}
	defaultAct := actSet
	if len(e.Children) > 1 {
		defaultAct = actAdd
	}
	for i := range e.Children {
		c := &e.Children[i]
		if err := checkLeaf(c, path); err != nil {
			return err
		}
		ref, ok := c.Get("idref")
		if !ok {
			ch.Bad = asset.ErrForm
			continue
		}
		if len(e.Children) == 1 {
			ch.At = ref.At
		}
		add(ch, asset.Value{Kind: asset.Text, Text: ref.Value}, actOf(c, act), defaultAct, ref.At)
	}
	return nil
}

// checkLeaf checks that a Value or an Asset has no children, and that an Asset has no text.
// path is the path of the parent, for messages. Errors: fault.Invalid.
func checkLeaf(e *document.Element, path string) error {
	if len(e.Children) > 0 {
		return fault.Invalidf(e.Children[0].At, "Invalid key at node(s): %s->%s->%s", path, e.Name, e.Children[0].Name)
	}
	if e.Name == elementAsset && strings.TrimSpace(e.Text) != "" {
		return fault.Invalidf(e.TextAt, "Text at node(s): %s->%s", path, e.Name)
	}
	return nil
}

// actOf returns the act of an element. If the element has no act, actOf returns outer, the act of
// the parent.
func actOf(e *document.Element, outer string) string {
	if a, ok := e.Get("act"); ok {
		return a.Value
	}
	return outer
}

// valueOf returns the text of an element, or null if there is no text.
func valueOf(e *document.Element) asset.Value {
	if e.Text == "" {
		return asset.Value{}
	}
	return asset.Value{Kind: asset.Text, Text: e.Text}
}
