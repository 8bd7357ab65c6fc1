package costtest

import "github.com/alds-dev/alds/internal/model/meta"

// operations are the names of operations. Operations that create assets are listed several times, so that
// they are chosen more often.
const operations = `Delete Undelete Inactivate Reactivate Close Activate MakeFuture QuickClose QuickSignup Copy Copy Copy DeepCopy ShallowCopy MakeTemplate Split
	Breakdown StoryToEpic EpicToStory ConvertToDefect GenerateSubStory GenerateSubEpic CopyAcceptanceTestsFromRegressionSuite ConvertToTeam AssignMemberWithRole
	AssignToScopeWithRole Send MarkAsRead DeleteWithData`

// commands makes the body of a request to api/asset.
func (g *maker) commands() any {
	if g.chance(20) {
		return many{g.count(10_000), g.command(), g.chance(50)}
	}
	var all list
	if g.chance(15) {
		all = append(all, dict{{"config", one(g, []any{word("atomic"), word("counts-only"), dict{{"maxAffected", g.count(1000)}}, word("import")})}})
	}
	for range g.few(5) {
		all = append(all, g.command())
	}
	return all
}

// command makes one command: a create, an update, an operation or a query.
func (g *maker) command() any {
	switch n := g.IntN(10); {
	case n < 3:
		d := g.asset(one(g, g.w.made))
		if g.chance(20) {
			return dict{{"@x" + index, d}}
		}
		return d
	case n < 7:
		return g.update()
	case n < 9:
		return g.operation()
	}
	return g.query()
}

// target makes the "from" of an update or an operation. It also returns the type of the assets.
func (g *maker) target() (dict, *meta.Type) {
	t := g.typ()
	if g.chance(60) {
		o := g.oid(t)
		return dict{{"from", word(o)}}, typeOf(o)
	}
	d := dict{{"from", word(t.Name)}}
	if g.chance(40) {
		d.set("filter", g.several(100, g.filter(t)))
	}
	if g.chance(20) {
		d.set("find", g.text())
	}
	if g.chance(10) {
		d.set("page", dict{{"size", g.count(1000)}})
	}
	return d, t
}

func (g *maker) update() any {
	d, t := g.target()
	var set dict
	for range g.few(4) {
		a := g.writable(t)
		set.set(a.Name, g.change(a))
	}
	d.set("update", set)
	return d
}

func (g *maker) operation() any {
	d, _ := g.target()
	op := g.oneOf(operations)
	switch g.IntN(3) {
	case 0:
		d.set("execute", word(op))
	case 1:
		d.set("execute", dict{{"op", word(op)}, {"args", g.args()}})
	default:
		d.set("execute", dict{{"op", word(op)}, {"list", many{g.count(30_000), g.args(), g.chance(50)}}})
	}
	return d
}

func (g *maker) args() dict {
	if g.chance(50) {
		return dict{}
	}
	return dict{{"Member", g.related(nil)}, {"Role", word("Role:4")}, {"IsOwner", false}}
}

// untouched are attributes that no request writes. Otherwise later requests of the changed member would
// fail.
var untouched = map[string]bool{"Username": true, "IsLoginDisabled": true, "DefaultRole": true}

// writable returns a random attribute that can be written, and rarely one that is read-only.
func (g *maker) writable(t *meta.Type) *meta.Attr {
	for {
		if a := g.attr(t); !untouched[a.Name] && (!a.ReadOnly || a.Kind == meta.Relation && a.Multi && g.chance(50) || g.chance(1)) {
			return a
		}
	}
}

// change makes the value of an attribute in an update.
func (g *maker) change(a *meta.Attr) any {
	switch {
	case a.Kind == meta.Rank:
		return dict{{g.oneOf("Before After"), word(g.oid(a.On))}}
	case !a.Multi && a.Kind != meta.Relation:
		if g.chance(40) {
			return dict{{"find", word(g.oneOf("a a ab text Story " + index))}, {"replace", g.text()}}
		}
		return g.value(a)
	case !a.Multi:
		return g.value(a)
	}
	switch g.IntN(5) {
	case 0:
		return dict{{"add", g.several(20_000, g.value(a))}, {"remove", g.several(20_000, g.value(a))}}
	case 1:
		return dict{{"remove", g.several(20_000, g.value(a))}}
	case 2:
		return dict{{"find", g.value(a)}, {"replace", g.value(a)}}
	}
	return many{g.count(20_000), g.value(a), g.chance(30)}
}

// value makes one value for an attribute.
func (g *maker) value(a *meta.Attr) any {
	if a.Kind != meta.Relation {
		if a.Multi {
			return word(g.oneOf("tag tag" + index + " tag" + index + " x'" + index))
		}
		return g.literal(a)
	}
	return g.related(a)
}

// related makes a value for a relation: an Oid, a name, a query or a new asset.
func (g *maker) related(a *meta.Attr) any {
	var t *meta.Type
	if a != nil {
		t = a.Related
	}
	switch n := g.IntN(10); {
	case n < 2 && t != nil:
		q := dict{{"from", word(t.Name)}}
		if g.chance(50) {
			q.set("filter", g.filter(t))
		}
		return q
	case n < 4 && t != nil && g.depth < 4:
		return g.asset(one(g, t.Concrete).Name)
	case n < 5:
		return word(g.oneOf("System a System*" + " S-" + index))
	}
	return word(g.oid(t))
}

// asset makes a create command, with the required attributes and up to three other attributes.
func (g *maker) asset(name string) dict {
	g.depth++
	defer func() { g.depth-- }()
	t, _ := model.Type(name)
	d := dict{{"AssetType", word(name)}}
	for _, a := range t.Attrs {
		if !a.Required {
			continue
		}
		switch a.Kind {
		case meta.Relation:
			d.set(a.Name, word(g.oid(a.Related)))
		case meta.Text:
			d.set(a.Name, g.text())
		default:
			d.set(a.Name, g.literal(a))
		}
	}
	for range g.IntN(4) {
		a := g.writable(t)
		switch {
		case a.Kind == meta.Rank:
		case a.Multi:
			d.set(a.Name, g.several(10_000, g.value(a)))
		default:
			d.set(a.Name, g.value(a))
		}
	}
	return d
}
