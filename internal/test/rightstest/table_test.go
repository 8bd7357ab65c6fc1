package rightstest

import (
	"os"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/alds-dev/alds/internal/model/meta"
)

// The verbs of rights.yaml.
const (
	create  = "create"
	change  = "change"
	operate = "operate"
	del     = "delete"
	relate  = "relate"
)

const systemAdmin, memberAdmin = "System Admin", "Member Admin"

// table is the content of rights.yaml, with what the test derives from it.
type table struct {
	Roles yaml.Node `yaml:"roles"`
	Kinds map[string]struct {
		Types      []string `yaml:"types"`
		Attributes []string `yaml:"attributes"`
		Own        bool     `yaml:"own"`
		System     bool     `yaml:"system"`
	} `yaml:"kinds"`
	Lie    map[string]string               `yaml:"lie"`
	On     map[string]string               `yaml:"on"`
	Self   []string                        `yaml:"self"`
	Rights map[string]map[string]yaml.Node `yaml:"rights"`
	Except map[string]map[string][]string  `yaml:"except"`

	order []string          // roles, from the highest to the lowest
	role  map[string]string // Oid of each role
}

func readTable(t *testing.T) *table {
	t.Helper()
	text, err := os.ReadFile("../../model/meta/rights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rights := &table{role: map[string]string{}}
	if err := yaml.Unmarshal(text, rights); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(rights.Roles.Content); i += 2 {
		name := rights.Roles.Content[i].Value
		rights.order = append(rights.order, name)
		rights.role[name] = "Role:" + rights.Roles.Content[i+1].Value
	}
	return rights
}

// kindOf returns the kind of rights for an attribute or operation of a type. Usually this is the kind of
// the type, but rights.yaml has special kinds for some attributes and operations.
func (t *table) kindOf(typ, name string) string {
	if kind, ok := kindsAlone[typ]; ok {
		return kind
	}
	for kind, k := range t.Kinds {
		if slices.Contains(k.Attributes, typ+"."+name) {
			return kind
		}
	}
	for at, _ := model.Type(typ); at != nil; at = at.Parent {
		for kind, k := range t.Kinds {
			if slices.Contains(k.Types, at.Name) {
				return kind
			}
		}
	}
	return ""
}

// has reports whether a role has a right, without regard to the place of the role.
func (t *table) has(role, kind, verb, name string) bool {
	if role == systemAdmin {
		return true
	}
	if slices.Contains(t.Except[role][kind], name) {
		return false
	}
	words := t.Rights[role][kind]
	all := []string{words.Value}
	for _, n := range words.Content {
		all = append(all, n.Value)
	}
	return slices.Contains(all, verb) || verb != "moderate" && slices.Contains(all, "all")
}

// thing is an asset, reduced to the properties on which rights depend.
type thing struct {
	typ  string
	in   []*project // projects that it belongs to
	on   *thing     // asset that it belongs to
	own  *member    // owner and creator; nil: somebody else
	is   *member    // if it is a member of the test: that member
	high bool       // true: it is a member with a role above Member Admin
}

// may reports whether the member w has a right on the thing x.
func (t *table) may(w *member, x thing, verb, name string) bool {
	if w.system() == systemAdmin {
		return true
	}
	if t.On[x.typ] != "" && x.on != nil {
		return t.may(w, *x.on, change, "")
	}
	kind := t.kindOf(x.typ, name)
	held := func(verb string) bool {
		return slices.ContainsFunc(w.held(), func(r string) bool { return t.has(r, kind, verb, name) })
	}
	there := func(verb string) bool {
		return slices.ContainsFunc(x.in, func(p *project) bool { return t.has(w.roleIn(p), kind, verb, name) })
	}
	switch k := t.Kinds[kind]; {
	case k.System && verb == relate:
		return held(relate)
	case k.System && x.is == w && verb == change && slices.Contains(t.Self, name):
		return true
	case k.System:
		return t.has(w.system(), kind, verb, name) && !x.high
	case len(x.in) == 0:
		return x.own == w && held(verb)
	default:
		return there(verb) && (!k.Own || x.own == w || there("moderate"))
	}
}

// above reports whether the role a is higher than the role b.
func (t *table) above(a, b string) bool {
	return slices.Index(t.order, a) < slices.Index(t.order, b)
}

// kindsAlone maps things that are not assets to their kinds of rights.
var kindsAlone = map[string]string{"tag": "tags", "webhook": "webhooks", "custom attribute": "custom attributes"}

// definitions are the commands that create the custom attributes of the test: a number and a relation of
// stories.
var definitions = []any{
	attrs{"AssetType": "AttributeDefinition", "Name": "Custom_Weight", "Asset": "Story", "AttributeType": "Numeric"},
	attrs{"AssetType": "AttributeDefinition", "Name": "Custom_Reviewers", "Asset": "Story", "AttributeType": "Relation", "RelatedAssetType": "Member", "IsMultivalue": true, "ReverseName": "Custom_Reviews"},
}

// model is the built-in model with the custom attributes of definitions.
var model = extended(meta.Custom{Attributes: []meta.CustomAttribute{
	{ID: 1, Type: "Story", Name: "Custom_Weight", Kind: meta.Numeric},
	{ID: 2, Type: "Story", Name: "Custom_Reviewers", Kind: meta.Relation, To: "Member", Many: true, Back: "Custom_Reviews", Code: 10000},
}})

func extended(c meta.Custom) *meta.Model {
	m, err := meta.Default().Extend(c)
	if err != nil {
		panic(err)
	}
	return m
}
