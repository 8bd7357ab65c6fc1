package clienttest

import (
	"maps"
	"slices"
)

// related returns the Oids of up to two assets of a type, for use in relations. It creates assets if there
// are too few.
func (c *client) related(typ string) []string {
	c.t.Helper()
	if all := c.found[typ]; all != nil {
		return all
	}
	c.found[typ] = []string{} // a type may require an asset of the same type; this entry ends the recursion
	r := c.send(object{"from": typ, "page": object{"size": 2}})
	all := make([]string, 0, 2)
	for _, row := range r.QueryResult.Results[0] {
		all = append(all, row["_oid"].(string))
	}
	c.found[typ] = all
	for c.model.AssetTypes[typ].creatable() && len(all) < 2 {
		all = append(all, c.make(typ))
		c.found[typ] = all
	}
	return all
}

// make creates an asset of a type with its required attributes, and returns its Oid.
func (c *client) make(typ string) string {
	c.t.Helper()
	command := c.create(typ)
	r := c.send(command)
	if failed := r.failures(); len(failed) > 0 || len(r.AssetsCreated.OidTokens) != 1 {
		c.t.Errorf("%s cannot be made: %v\n%.1000v", typ, failed, command)
	}
	if len(r.AssetsCreated.OidTokens) == 0 {
		return ""
	}
	return r.AssetsCreated.OidTokens[0]
}

// create returns a command that creates an asset of a type with values for its required attributes.
func (c *client) create(typ string) object {
	c.t.Helper()
	command := object{"AssetType": typ}
	for _, a := range sorted(c.model.AssetTypes[typ].Attributes) {
		if a.IsRequired && !a.IsReadOnly {
			command[a.Name] = c.any(typ, a, 0)
		}
	}
	maps.Copy(command, c.known(typ))
	return command
}

// any returns a value that can be written to an attribute. The values for nth 0 and 1 differ. It returns
// nil if the attribute is a relation and there are too few assets that the relation accepts.
func (c *client) any(typ string, a *attribute, nth int) any {
	c.t.Helper()
	if !a.isRelation() {
		return c.value(typ, a, nth)
	}
	var v any
	types := c.model.targets(a)
	if nth%2 == 1 {
		slices.Reverse(types)
	}
	for _, name := range types {
		if all := c.related(name); len(all) > nth%2 {
			v = all[nth%2]
			break
		}
	}
	if a.IsMultivalue && v != nil {
		return []any{v}
	}
	return v
}
