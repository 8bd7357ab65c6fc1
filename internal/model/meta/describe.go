package meta

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// methodologies are the terminologies in which display names of types may differ.
var methodologies = []string{"XP", "Scrum", "AgileUP", "DSDM"}

// rankStep is the distance between the ranks of well-known assets of a type. It leaves room
// between them, and keeps them below the ranks of all new assets.
const rankStep = 1024

// describe fills in the properties of each type, and checks the attribute names in these
// properties.
func (l *loader) describe(*source) {
	for _, t := range l.m.Types {
		ft := l.files[t]
		t.NumberPrefix, t.Metadata, t.RankSpace = ft.Number, ft.Metadata, ft.Rank
		if t.RankSpace == "" {
			t.RankSpace = t.Name
		}
		t.DisplayNames = l.displayNames(t, &ft.Display)
		t.OrderBy, t.DisplayBy = ft.Defaults.OrderBy, ft.Defaults.DisplayBy
		t.ShortName, t.NameAttr, t.Description = ft.Defaults.Short, ft.Defaults.Name, ft.Defaults.Description
		t.ResolveBy = ft.Resolve
		t.Secured = Secured{Self: ft.Secured == "self"}
		if !t.Secured.Self {
			t.Secured.Via = ft.Secured
		}
		t.Seen = l.seenBy(t)
		t.Follows = Follows(ft.Follows)
		t.StateFrom = StateFrom(ft.StateFrom)
		t.Period = Period(ft.Period)
		t.PartOf = PartOf(ft.PartOf)
		l.checkNames(t)
		t.Basic = basic(t, ft.Basic)
	}
}

// fix makes all attributes of fixed types read-only.
func (l *loader) fix(*source) {
	for _, t := range l.m.Types {
		if !l.files[t].Fixed {
			continue
		}
		for _, a := range t.Attrs {
			a.ReadOnly = true
		}
	}
}

func (l *loader) displayNames(t *Type, n *yaml.Node) map[string]string {
	switch {
	case n.Kind == 0 && t.Custom:
		return nil
	case n.Kind == 0:
		return map[string]string{"Scrum": words(t.Name)}
	case n.Kind == yaml.ScalarNode:
		return map[string]string{"Scrum": n.Value}
	}
	names := map[string]string{}
	for _, e := range l.entries(n) {
		if !slices.Contains(methodologies, e.key) {
			l.fail(at(e.line, "%s: no methodology %s", t.Name, e.key))
		}
		names[e.key] = e.node.Value
	}
	if names["Scrum"] == "" {
		l.fail(at(n.Line, "%s: no display name for Scrum", t.Name))
	}
	return names
}

// checkNames records an error for every attribute name that the properties of t use and t does not
// have.
func (l *loader) checkNames(t *Type) {
	names := slices.Concat(
		[]string{t.OrderBy, t.DisplayBy, t.ShortName, t.NameAttr, t.Description},
		[]string{t.Secured.Via, t.Follows.Relation, t.StateFrom.Attribute, t.Period.Begin, t.Period.End, t.PartOf.Relation},
		t.Follows.Attributes, t.ResolveBy, l.files[t].Basic,
	)
	for _, op := range t.Ops {
		for name := range op.Effect.Set {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if name != "" && t.attrs[name] == nil {
			l.fail(at(l.files[t].line, "%s: no attribute %s", t.Name, name))
		}
	}
}

// basic returns the attributes that a read without sel returns. If names is not nil, they are the
// attributes with these names. Otherwise they are the stored attributes that can be written, and
// the few read-only attributes that identify the asset.
func basic(t *Type, names []string) []*Attr {
	var all []*Attr
	for _, name := range names {
		if a := t.attrs[name]; a != nil {
			all = append(all, a)
		}
	}
	if names != nil {
		return all
	}
	shown := []string{"AssetType", "AssetState", "SecurityScope", "Number"}
	for _, a := range t.Attrs {
		switch a.Place.Kind {
		case InColumn, InAttrs, InValues, InLinks:
			if a.Kind != Blob && (!a.ReadOnly || slices.Contains(shown, a.Name)) {
				all = append(all, a)
			}
		}
	}
	return all
}

// instances reads the well-known assets.
func (l *loader) instances(s *source) {
	for _, e := range l.entries(&s.file.Instances) {
		t, ok := l.m.types[e.key]
		if !ok || t.Abstract || t.Metadata {
			l.fail(at(e.line, "%s has no assets", e.key))
			continue
		}
		for i, row := range l.entries(e.node) {
			id, err := strconv.ParseInt(row.key, 10, 64)
			if err != nil {
				l.fail(at(row.line, "%s: %s is no id", t.Name, row.key))
			}
			l.m.Instances = append(l.m.Instances, Instance{Type: t, ID: id, Attrs: l.values(t, row, i)})
		}
	}
}

// values reads the attributes of one well-known asset, the i-th of its type.
func (l *loader) values(t *Type, row entry, i int) map[string]string {
	if row.node.Kind == yaml.ScalarNode {
		row.node = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Value: "Name"}, row.node}}
	}
	values := map[string]string{}
	for _, e := range l.entries(row.node) {
		if a := t.attrs[e.key]; a == nil || a.ReadOnly {
			l.fail(at(row.line, "%s:%s: no attribute %s to set", t.Name, row.key, e.key))
		}
		values[e.key] = e.node.Value
	}
	if _, ranked := t.attrs["Order"]; ranked && values["Order"] == "" {
		values["Order"] = strconv.Itoa((i + 1) * rankStep)
	}
	return values
}
