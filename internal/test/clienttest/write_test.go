package clienttest

import (
	"maps"
	"slices"
	"strings"
)

// all tests everything that metadata offers, for the types of the sample.
func (c *client) all() {
	c.t.Helper()
	for _, typ := range c.some(0, 3) {
		if strings.HasPrefix(typ.Token, "Custom_") && typ.Token != "Custom_Origin" {
			continue // the test of operations may have deleted this list
		}
		c.does(typ)
	}
}

// does tests the attributes and operations that metadata offers for a type.
func (c *client) does(typ *assetType) {
	c.t.Helper()
	c.did[typ.Token] = true
	c.writes(typ)
	c.operates(typ)
}

// writes creates an asset of a type, writes each of its attributes twice, and clears them.
func (c *client) writes(typ *assetType) {
	c.t.Helper()
	if !typ.creatable() {
		c.mustNotMake(typ)
		return
	}
	for _, a := range sorted(typ.Attributes) { // create related assets first: the asset must not refer to itself
		if a.isRelation() && !a.IsReadOnly {
			for _, name := range c.model.targets(a) {
				c.related(name)
			}
		}
	}
	oid := c.make(typ.Token)
	if oid == "" {
		return
	}
	var writable, readOnly []*attribute
	for _, a := range sorted(typ.Attributes) {
		switch {
		case own[a.Token], never[a.Token]:
		case a.IsReadOnly || c.model.isOnce(a):
			readOnly = append(readOnly, a)
		default:
			writable = append(writable, a)
		}
		if a.IsCustom {
			c.custom[a.Name]++
		}
	}
	c.mustTake(oid, typ, writable, 0)
	row := c.mustTake(oid, typ, writable, 1)
	c.mustRefuse(oid, typ, readOnly)
	c.mustFit(oid, writable)
	c.mustNeed(typ)
	c.clear(oid, row, writable)
}

// mustNotMake checks that no asset of a type can be created. The type is abstract or has only read-only
// attributes.
func (c *client) mustNotMake(typ *assetType) {
	c.t.Helper()
	if typ.Token == definition {
		return // the service creates an asset of a subtype instead; the method extend tests that
	}
	command := object{"AssetType": typ.Token}
	for _, a := range sorted(typ.Attributes) {
		if a.IsRequired {
			command[a.Name] = c.any(typ.Token, a, 0)
		}
	}
	r := c.send(command)
	failed := r.failures()[0]
	switch {
	case failed == "":
		c.t.Errorf("%s was made: %v", typ.Token, r.AssetsCreated.OidTokens)
	case typ.Abstract && failed != "Abstract AssetType: "+typ.Token:
		c.t.Errorf("%s is abstract, but the answer is %q", typ.Token, failed)
	case !typ.Abstract && !strings.HasPrefix(failed, "Violation'ReadOnly'"+typ.Token+"."):
		c.t.Errorf("%s has nothing to write, but the answer is %q", typ.Token, failed)
	}
}

// mustTake writes attributes. All writes must succeed. It returns the values read after the writes.
func (c *client) mustTake(oid string, typ *assetType, all []*attribute, nth int) object {
	c.t.Helper()
	commands, values := make([]object, len(all)), make([]any, len(all))
	for i, a := range all {
		values[i] = c.any(typ.Token, a, nth)
		commands[i] = object{"from": oid, "update": object{a.Name: values[i]}}
	}
	r, row := c.sendAndRead(oid, readable(all), commands...)
	failed := r.failures()
	for i, a := range all {
		if values[i] == nil {
			c.t.Errorf("%s: there is nothing that it leads to", a.Token)
		} else if failed[i] != "" {
			c.t.Errorf("%s is writable, but %.100v is refused: %s", a.Token, values[i], failed[i])
		} else if problem := differs(a, values[i], row[a.Name]); problem != "" {
			c.t.Errorf("%s %s", oid, problem)
		}
	}
	return row
}

// readable returns the names of the attributes that can be read: all except passwords.
func readable(all []*attribute) []string {
	var names []string
	for _, a := range all {
		if a.AttributeType != "Password" {
			names = append(names, a.Name)
		}
	}
	return names
}

// mustRefuse writes read-only attributes. The writes must fail, except writes to the other side of a
// writable relation.
func (c *client) mustRefuse(oid string, typ *assetType, all []*attribute) {
	c.t.Helper()
	commands := make([]object, 0, len(all))
	about := make([]*attribute, 0, len(all))
	for _, a := range all {
		v := c.any(typ.Token, a, 0)
		if holder := c.model.holder(typ.Token, a); holder != nil {
			v = []any{c.create(holder.Token)}
		} else if c.model.isOnce(a) && differs(a, v, c.row(oid, []string{a.Name})[a.Name]) == "" {
			v = c.any(typ.Token, a, 1)
		}
		if v != nil {
			commands, about = append(commands, object{"from": oid, "update": object{a.Name: v}}), append(about, a)
		}
	}
	failed := c.send(commands...).failures()
	for i, a := range about {
		switch otherSide := c.model.holder(typ.Token, a) != nil; {
		case otherSide && failed[i] != "":
			c.t.Errorf("%s is the other side of a relation that can be written, but refused: %s", a.Token, failed[i])
		case !otherSide && !strings.HasPrefix(failed[i], "Violation'") && !strings.HasPrefix(failed[i], "Denied'"):
			c.t.Errorf("%s is read-only, but the answer to %.200v is %q", a.Token, commands[i], failed[i])
		}
	}
}

// clear clears all attributes. row has their current values. Required attributes must keep their values.
func (c *client) clear(oid string, row object, all []*attribute) {
	c.t.Helper()
	commands := make([]object, len(all))
	for i, a := range all {
		commands[i] = object{"from": oid, "update": object{a.Name: nil}}
		if a.IsMultivalue {
			commands[i] = object{"from": oid, "update": object{a.Name: object{"remove": members(row[a.Name])}}}
		}
	}
	r, row := c.sendAndRead(oid, readable(all), commands...)
	failed := r.failures()
	for i, a := range all {
		switch {
		case kept[a.AttributeType]:
		case a.IsRequired && !strings.HasPrefix(failed[i], "Violation'Required'"):
			c.t.Errorf("%s is required, but can be cleared: %s", a.Token, failed[i])
		case !a.IsRequired && failed[i] != "":
			c.t.Errorf("%s is not required, but cannot be cleared: %s", a.Token, failed[i])
		case !a.IsRequired && !isNothing(row[a.Name]):
			c.t.Errorf("%s %s was cleared, but is %v", oid, a.Token, row[a.Name])
		}
	}
}

// members converts read values of a relation to the form in which they are written.
func members(read any) []any {
	list, _ := read.([]any)
	all := make([]any, len(list))
	for i, one := range list {
		all[i] = one
		if asset, ok := one.(object); ok {
			all[i] = asset["_oid"]
		}
	}
	return all
}

// mustNeed tries to create assets, each without one of the required values. The service must refuse each
// command, or set a default value.
func (c *client) mustNeed(typ *assetType) {
	c.t.Helper()
	for _, a := range sorted(typ.Attributes) {
		if !a.IsRequired || a.IsReadOnly {
			continue
		}
		command := c.create(typ.Token)
		delete(command, a.Name)
		r := c.send(command)
		if want := "Violation'Required'" + a.Token; r.failures()[0] == want {
			continue
		}
		if len(r.AssetsCreated.OidTokens) == 0 || c.row(r.AssetsCreated.OidTokens[0], []string{a.Name})[a.Name] == nil {
			c.t.Errorf("%s is required, but without it: %v %v", a.Token, r.AssetsCreated, r.failures())
		}
	}
}

// mustFit writes relations to assets of wrong types, which must fail.
func (c *client) mustFit(oid string, all []*attribute) {
	c.t.Helper()
	var commands []object
	var about []*attribute
	for _, a := range all {
		if other := c.stranger(a); other != "" {
			commands = append(commands, object{"from": oid, "update": object{a.Name: other}})
			about = append(about, a)
		}
	}
	failed := c.send(commands...).failures()
	for i, a := range about {
		if want := "Violation'Invalid'" + a.Token; failed[i] != want {
			c.t.Errorf("%s took %v, or the answer is not %s: %s", a.Token, commands[i], want, failed[i])
		}
	}
}

// stranger returns an asset of a type that a relation does not accept, or "" if there is none. The type is
// as closely related as possible to the accepted types.
func (c *client) stranger(a *attribute) string {
	c.t.Helper()
	if !a.isRelation() {
		return ""
	}
	targets := c.model.targets(a)
	for up := a.RelatedAsset.NameRef; ; up = c.model.AssetTypes[up].Base.NameRef {
		among := c.model.concrete(up)
		if up == "" {
			among = slices.Sorted(maps.Keys(c.model.AssetTypes))
		}
		for _, name := range among {
			if all := c.related(name); !slices.Contains(targets, name) && len(all) > 0 {
				return all[0]
			}
		}
		if up == "" {
			return ""
		}
	}
}
