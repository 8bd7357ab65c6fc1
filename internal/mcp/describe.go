package mcp

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// described is a type in the metadata. Spec: interface 2.4.
type described struct {
	Token      string
	Abstract   bool
	IsCustom   bool
	Base       nameref
	Attributes map[string]attribute
	Operations map[string]operation
}

type nameref struct{ Nameref string }

type attribute struct {
	Name, AttributeType                            string
	IsReadOnly, IsRequired, IsMultivalue, IsCustom bool
	RelatedAsset                                   nameref
	ValidTypes                                     []nameref
}

type operation struct {
	Name      string
	Arguments map[string]struct {
		Name, AttributeType string
		IsRequired          bool
		RelatedAsset        nameref
	}
}

// maxNames is how many types one call describes, and maxMatches how many names a search finds.
const (
	maxNames   = 10
	maxMatches = 100
)

func runDescribe(c *call, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	var a struct {
		Names texts
		Words string
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	switch {
	case len(a.Names) == 0 && a.Words == "":
		return nil, refusef("describe needs names or words")
	case len(a.Names) > maxNames:
		return nil, refusef("describe takes at most %d names", maxNames)
	}
	l := &lines{}
	for _, name := range a.Names {
		if err := c.describe(l, name); err != nil {
			return nil, err
		}
	}
	if a.Words != "" {
		if err := c.search(l, a.Words); err != nil {
			return nil, err
		}
	}
	if l.full {
		l.end("The answer is cut: ask for fewer names.")
	}
	return answered(l), nil
}

// describe prints a type, or one attribute or operation of a type.
func (c *call) describe(l *lines, name string) error {
	typ, member, one := strings.Cut(name, ".")
	path := "meta.v1/" + url.PathEscape(typ)
	if !one {
		var t described
		if _, err := c.get(path, &t); err != nil {
			return c.unknown(err, name)
		}
		t.print(l)
		return nil
	}
	got, err := c.do(http.MethodGet, path+"/"+url.PathEscape(member), nil)
	if err != nil {
		return err
	}
	var kind struct {
		Type string `json:"_type"`
	}
	if err := got.decode(&kind); err != nil {
		return c.unknown(err, name)
	}
	if kind.Type == "Operation" {
		var o operation
		if err := got.decode(&o); err != nil {
			return err
		}
		l.add(name, ": operation ", o.words())
		return nil
	}
	var at attribute
	if err := got.decode(&at); err != nil {
		return err
	}
	l.add(name, ": ", at.words())
	return nil
}

// unknown returns a helpful error for a name that the model does not have.
func (*call) unknown(err error, name string) error {
	if r, ok := asRefusal(err); ok && r.status == http.StatusNotFound {
		return refusef("The model has no %q. Use words to search for names", name)
	}
	return err
}

// print appends the type: what can be written, what can only be read, and the operations.
func (t *described) print(l *lines) {
	head := []string{t.Token}
	if t.Abstract {
		head = append(head, "abstract")
	}
	if t.Base.Nameref != "" {
		head = append(head, "a kind of "+t.Base.Nameref)
	}
	l.add(strings.Join(head, ", "))
	var written, read, checks, operations []string
	for _, a := range t.Attributes {
		switch {
		case !a.IsReadOnly:
			written = append(written, a.Name+" "+a.words())
		case strings.HasPrefix(a.Name, "Is") || strings.HasPrefix(a.Name, "Check") || strings.HasPrefix(a.Name, "Can"):
			checks = append(checks, a.Name)
		default:
			read = append(read, a.Name+" "+a.words())
		}
	}
	for _, o := range t.Operations {
		operations = append(operations, o.words())
	}
	for _, of := range []struct {
		what string
		list []string
	}{{"Written", written}, {"Read-only", read}, {"Checks (Boolean, read-only)", checks}, {"Operations", operations}} {
		if len(of.list) > 0 {
			slices.Sort(of.list)
			l.add(of.what, ": ", strings.Join(of.list, "; "))
		}
	}
}

// words returns the kind of an attribute.
func (a *attribute) words() string {
	text := a.AttributeType
	if a.AttributeType == "Relation" {
		text = "→ " + a.RelatedAsset.Nameref
		if len(a.ValidTypes) > 0 {
			names := make([]string, len(a.ValidTypes))
			for i, t := range a.ValidTypes {
				names[i] = t.Nameref
			}
			text += " (" + strings.Join(names, ", ") + ")"
		}
	}
	if a.IsMultivalue {
		text += " many"
	}
	if a.IsRequired && !a.IsReadOnly {
		text += " required"
	}
	if a.IsCustom {
		text += " custom"
	}
	return text
}

// words returns the name of an operation with its arguments.
func (o *operation) words() string {
	if len(o.Arguments) == 0 {
		return o.Name
	}
	var parts []string
	for _, a := range o.Arguments {
		text := a.Name + " " + cmp.Or(a.RelatedAsset.Nameref, a.AttributeType)
		if a.IsRequired {
			text += " required"
		}
		parts = append(parts, text)
	}
	slices.Sort(parts)
	return o.Name + "(" + strings.Join(parts, ", ") + ")"
}

// search prints the types, attributes and operations whose names contain a text. The definitions
// are assets, so a query finds them. Spec: interface 2.1.1.
func (c *call) search(l *lines, words string) error {
	words = strings.Join(strings.Fields(words), "")
	page := asked{"size": maxMatches, "start": 0}
	find := func(from string, columns ...string) asked {
		return asked{"from": from, "select": columns, "filter": []string{"Name~=$Words"}, "with": asked{"$Words": words}, "sort": []string{"Name"}, "page": page}
	}
	found, _, err := c.find(
		find("AssetType", "Name", "Base.Name"),
		find("AttributeDefinition", "Name", "Asset.Name", "AttributeType"),
		find("Operation", "Name", "Asset.Name"),
	)
	if err != nil {
		return err
	}
	for i, what := range []string{"Types", "Attributes", "Operations"} {
		var names []string
		for _, r := range found[i] {
			name := r.text("Name")
			if of := r.text("Asset.Name"); of != "" {
				name = of + "." + name
			}
			if kind := r.text("AttributeType"); kind != "" {
				name += " " + kind
			}
			names = append(names, name)
		}
		if len(names) > 0 {
			l.add(what, ": ", strings.Join(names, "; "))
		}
	}
	if len(found[0])+len(found[1])+len(found[2]) == 0 {
		l.add("No name contains ", oneLine(words), ".")
	}
	return nil
}
