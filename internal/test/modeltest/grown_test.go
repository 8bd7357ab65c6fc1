package modeltest

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
)

// customTables has the custom attributes of the test, in the format of tables. They are of every kind, on
// single types and on an abstract type, and relations are written from both ends.
var customTables = map[string]string{
	"Scope":  `Custom_Budget#`,
	"Theme":  workitems,
	"Epic":   workitems,
	"Story":  workitems + ` Custom_Tale Custom_Due@ Custom_Lead>Member`,
	"Task":   workitems,
	"Member": `Custom_Level# Custom_Reviews<<Custom_Reviewers=Workitem -Custom_Led<Custom_Lead=Story`,
}

const workitems = ` Custom_Motto Custom_Weight# Custom_Done? Custom_Hue>Custom_HueType Custom_Reviewers>>Member`

// definitions is a request that adds the custom attributes. hues adds the values of their list.
const definitions = `[
	{"AssetType": "AssetType", "Name": "Custom_HueType", "Base": "List"},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Motto", "Asset": "Workitem", "AttributeType": "Text"},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Weight", "Asset": "Workitem", "AttributeType": "Numeric"},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Done", "Asset": "Workitem", "AttributeType": "Boolean"},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Hue", "Asset": "Workitem", "AttributeType": "Relation", "RelatedAssetType": "Custom_HueType", "ReverseName": "Custom_Hued"},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Reviewers", "Asset": "Workitem", "AttributeType": "Relation", "IsMultivalue": true, "RelatedAssetType": "Member", "ReverseName": "Custom_Reviews"},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Tale", "Asset": "Story", "AttributeType": "LongText"},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Due", "Asset": "Story", "AttributeType": "Date", "IsDateOnly": true},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Lead", "Asset": "Story", "AttributeType": "Relation", "RelatedAssetType": "Member", "ReverseName": "Custom_Led"},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Budget", "Asset": "Scope", "AttributeType": "Numeric"},
	{"AssetType": "AttributeDefinition", "Name": "Custom_Level", "Asset": "Member", "AttributeType": "Numeric"}
]`

const hues = `[{"AssetType": "Custom_HueType", "Name": "a"}, {"AssetType": "Custom_HueType", "Name": "b"}, {"AssetType": "Custom_HueType", "Name": "B"}]`

// grownEvery is a number n: one of n sequences has custom attributes.
const grownEvery = 2

// starts has the worlds with which sequences begin. The key is true if there are custom attributes.
type starts map[bool]*world

// of returns a copy of the world with which a sequence begins.
func (s starts) of(all sequence) *world { return s[all.grown()].clone() }

// grown reports whether the model of a sequence has custom attributes.
func (s sequence) grown() bool { return len(s) > 0 && s[0].grown }

// setUp creates a new database and its engine. If grown is true, the model has custom attributes.
func setUp(t *testing.T, dialect string, grown bool) (*database, *bulk.Engine) {
	t.Helper()
	b := &database{d: open[dialect](t), m: model, labels: map[int64]string{}, ids: map[string]int64{}}
	if err := seed.Run(t.Context(), b.d, model); err != nil {
		t.Fatal(err)
	}
	logins, err := auth.New(b.d, model, auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.actors = logins
	assets := asset.New(b.d, model, usernames{}, nil)
	assets.OnScopesHidden, assets.OnRolesChanged = logins.ScopesHidden, logins.RolesChanged
	e := bulk.New(assets, find.New(b.d, model))
	if grown {
		e = b.grow(t, assets, e)
	}
	return b, e
}

// grow adds the custom attributes by a request of the administrator. It returns an engine with the new
// model.
func (b *database) grow(t *testing.T, assets *asset.Engine, e *bulk.Engine) *bulk.Engine {
	t.Helper()
	b.send(t, e, definitions)
	c := catalog.New(b.d, model, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := c.Present()
	b.m = p.Model
	e = bulk.New(assets.With(p.Model, p.Generation), find.New(b.d, p.Model))
	b.send(t, e, hues)
	return e
}

// send executes a request of the administrator. No command may fail.
func (b *database) send(t *testing.T, e *bulk.Engine, body string) {
	t.Helper()
	who, err := b.actors.ActorOf(context.Background(), 20)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := e.Run(t.Context(), who, bulk.Request{Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	var got response
	if err := json.Unmarshal(raw, &got); err != nil || got.Failures.Count > 0 {
		t.Fatalf("%v: %s", err, raw)
	}
}

// withCustom adds the custom attributes to the attributes of each type, and returns all.
func withCustom(all map[string][]attr) map[string][]attr {
	for typ, line := range customTables {
		for _, word := range strings.Fields(line) {
			a := readAttr(word)
			a.custom = true
			all[typ] = append(all[typ], a)
		}
	}
	return all
}

// attrs returns the attributes of a type. Custom attributes are among them only if the sequence has custom
// attributes.
func (g *generator) attrs(typ string) []attr {
	return slices.DeleteFunc(slices.Clone(attrs[typ]), func(a attr) bool { return a.custom && !g.grown })
}

// custom returns the custom attributes of a type that have one of the kinds.
func (g *generator) custom(typ string, kinds ...string) []attr {
	if typ == "Workitem" || typ == "PrimaryWorkitem" {
		typ = "Theme" // Theme has exactly the custom attributes of all workitems
	}
	return slices.DeleteFunc(g.attrs(typ), func(a attr) bool { return !a.custom || !slices.Contains(kinds, a.kind) })
}

// settled returns values of custom attributes, for assets that the first request creates.
func (g *generator) settled(typ string) (o obj) {
	for _, a := range g.custom(typ, "text", "#", "?", "@", ">") {
		switch {
		case g.chance(40):
		case a.to == "Custom_HueType":
			o = append(o, pair{key: a.name, val: "b"})
		case a.to == "Member":
			o = append(o, pair{key: a.name, val: ref{"Member:20", "Member"}})
		default:
			o = append(o, pair{key: a.name, val: g.value(typ, a, 0, true)})
		}
	}
	return o
}

// whereCustom returns a random condition on a custom attribute, or nil if the type has none.
func (g *generator) whereCustom(typ string) obj {
	all := g.custom(typ, "text", "#", "?", "@", ">")
	if len(all) == 0 {
		return nil
	}
	a := one(g, all...)
	switch a.kind {
	case "#":
		return obj{{key: a.name, val: one[any](g, "3", 2.5, 0.0, 1.0)}}
	case "?":
		return obj{{key: a.name, val: g.chance(50)}}
	case "@":
		return obj{{key: a.name, val: one[any](g, "2026-01-01", "2026-02-03")}}
	case ">":
		if v, ok := g.pick(a.to).(ref); ok && v.typ == "Custom_HueType" && v.label != "" {
			return obj{{key: a.name, val: v}}
		}
		return nil
	}
	return obj{{key: a.name, val: one[any](g, "a", "A", "some text", "5", "true")}}
}

// selectCustom returns the name of a custom attribute to select, or nil.
func (g *generator) selectCustom(typ string) []string {
	all := g.custom(typ, "text", "#", ">", ">>")
	if len(all) == 0 || g.chance(40) {
		return nil
	}
	return []string{one(g, all...).name}
}

// orderCustom adds to a query a filter on a custom number, or an order by a custom number or date.
func (g *generator) orderCustom(c *command, typ string) {
	all := g.custom(typ, "#", "@")
	if len(all) == 0 {
		return
	}
	if a := one(g, all...); a.kind == "#" && g.chance(30) {
		c.more = a.name + one(g, ">", "<", ">=", "<=", "!=") + one(g, "'0'", "'1'", "'2.5'")
	}
	if g.chance(40) {
		c.sort = one(g, "", "-") + one(g, all...).name
	}
}

// inOrder returns the assets that match the filter of a query, sorted as the query says. Assets without a
// value come first, or last if the order is descending.
func (c *command) inOrder(all []*thing) []*thing {
	all = slices.Clone(all)
	if i := strings.IndexAny(c.more, "<>!="); i > 0 {
		op, text, _ := strings.Cut(c.more[i:], "'")
		all = slices.DeleteFunc(all, func(t *thing) bool {
			has, ok := number(t, c.more[:i])
			than, _ := strconv.ParseFloat(strings.TrimSuffix(text, "'"), 64)
			return !ok && op != "!=" || ok && !map[string]bool{">": has > than, "<": has < than, ">=": has >= than, "<=": has <= than, "!=": has != than}[op]
		})
	}
	if name, down := strings.CutPrefix(c.sort, "-"); name != "" {
		slices.SortStableFunc(all, func(x, y *thing) int {
			a, _ := number(x, name)
			b, _ := number(y, name)
			if down {
				a, b = b, a
			}
			return cmp.Compare(a, b)
		})
	}
	return all
}

// number returns the value of a custom number or date. If the asset has no value, it returns minus infinity
// and false.
func number(t *thing, name string) (float64, bool) {
	n, err := strconv.ParseFloat(t.val[name], 64)
	if err != nil {
		return math.Inf(-1), false
	}
	return n, true
}

// customAttr returns the custom attribute with a name. An attribute of this name is the same on all types
// that have it.
func customAttr(name string) (attr, bool) {
	for _, typ := range slices.Sorted(maps.Keys(customTables)) {
		if a, ok := attrOf(typ, name); ok && a.custom {
			return a, true
		}
	}
	return attr{}, false
}

// fitsCustom reports whether an asset matches a condition on a custom attribute.
func fitsCustom(t *thing, a attr, v any) bool {
	if r, ok := v.(ref); ok {
		return t.one[a.name] == r.label
	}
	has, ok := t.val[a.name]
	if a.kind == "?" { // a Boolean that was never set is false
		return (has == "true") == v.(bool)
	}
	text, _, _ := scalar(a, v)
	return ok && sameText(has, text)
}

// nowhere is the Oid that a row has if a custom relation refers to nothing or to an asset that the member
// does not see.
const nowhere = "NULL"

// customCell returns the value that a row has for a custom attribute.
func (k *work) customCell(t *thing, a attr) any {
	shown := func(label string) bool {
		to := k.things[label]
		return to != nil && to.state != 255 && k.visible(k.world, to)
	}
	switch a.kind {
	case ">":
		if l := t.one[a.name]; l != "" && shown(l) {
			return map[string]any{"_oid": l}
		}
		return map[string]any{"_oid": nowhere}
	case ">>":
		all := []any{}
		for _, to := range k.sorted(a.to) {
			if k.links[link{a.name, t.label, to.label}] && shown(to.label) {
				all = append(all, map[string]any{"_oid": to.label})
			}
		}
		return all
	}
	if v, has := t.val[a.name]; has {
		return v
	}
	return nil
}
