package clienttest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// added returns commands that create a list and custom attributes: one attribute of each kind on Story, and
// two attributes on abstract types.
func added() []object {
	attribute := func(name, on, kind string, more object) object {
		command := object{"AssetType": definition, "Name": "Custom_" + name, "Asset": on, "AttributeType": kind}
		for key, v := range more {
			command[key] = v
		}
		return command
	}
	return []object{
		{"AssetType": list, "Name": "Custom_Origin", "Base": "List", "DisplayName": "Origin"},
		attribute("Text", "Story", "Text", nil),
		attribute("LongText", "Story", "LongText", nil),
		attribute("Numeric", "Story", "Numeric", nil),
		attribute("Date", "Story", "Date", nil),
		attribute("Day", "Story", "Date", object{"IsDateOnly": true}),
		attribute("Boolean", "Story", "Boolean", nil),
		attribute("One", "Story", "Relation", object{"RelatedAssetType": "Workitem", "ReverseName": "Custom_OneOf"}),
		attribute("Many", "Story", "Relation", object{"RelatedAssetType": "Member", "ReverseName": "Custom_ManyOf", "IsMultivalue": true}),
		attribute("Listed", "PrimaryWorkitem", "Relation", object{"RelatedAssetType": "Custom_Origin"}),
		attribute("Inherited", "Workitem", "Numeric", object{"IsRequired": true}),
	}
}

// TestModel checks that everything that metadata offers works, and that nothing else works. It repeats the
// checks after an administrator has added lists and attributes. With -short it tests only some types, and
// only with the additions.
func TestModel(t *testing.T) {
	t.Parallel()
	c := connect(t, start(t, "sqlite"))
	if !testing.Short() {
		c.all()
	}
	c.extend()
	c.all()
	c.mustHaveAdded()
}

// TestCustom makes the checks of TestModel on the other database, for types that have custom attributes.
func TestCustom(t *testing.T) {
	t.Parallel()
	c := connect(t, start(t, "mysql"))
	c.extend()
	for _, typ := range c.some(1, 5) {
		if slices.ContainsFunc(sorted(typ.Attributes), func(a *attribute) bool { return a.IsCustom }) {
			c.does(typ)
		}
	}
	c.mustHaveAdded()
}

// extend adds a list and custom attributes to the model. The rest of the metadata must not change.
func (c *client) extend() {
	c.t.Helper()
	before := c.model
	if r := c.send(added()...); len(r.failures()) > 0 || len(r.AssetsCreated.OidTokens) != len(added()) {
		c.t.Fatalf("%v %v", r.AssetsCreated, r.failures())
	}
	c.learn()
	for _, typ := range sorted(c.model.AssetTypes) {
		was := before.AssetTypes[typ.Token]
		if (was == nil) != typ.IsCustom {
			c.t.Errorf("%s is custom: %t", typ.Token, typ.IsCustom)
		}
		for _, a := range sorted(typ.Attributes) {
			var old *attribute
			if was != nil {
				old = was.Attributes[a.Token]
			}
			if a.IsCustom != strings.HasPrefix(a.Name, "Custom_") || !a.IsCustom && was != nil && !reflect.DeepEqual(a, old) {
				c.t.Errorf("%s is another one: %+v, was %+v", a.Token, a, old)
			}
		}
	}
}

// mustHaveAdded fails the test unless every custom attribute was written on each tested type that has the
// attribute.
func (c *client) mustHaveAdded() {
	c.t.Helper()
	for _, command := range added()[1:] {
		name, on := command["Name"].(string), command["Asset"].(string)
		want := 0
		for _, typ := range c.model.concrete(on) {
			if c.did[typ] {
				want++
			}
		}
		if c.custom[name] != want {
			c.t.Errorf("%s was written on %d types, not on %d", name, c.custom[name], want)
		}
	}
}
