package modeltest

import "slices"

// attempt returns a random command for a member who lacks some rights. The command does one thing with
// assets that the member sees, so that mostly the rights decide whether it fails. It returns nil if the
// member sees no suitable asset.
func (g *generator) attempt() *command {
	switch n := g.IntN(100); {
	case n < 20:
		return g.attemptMove()
	case n < 40:
		return g.attemptUpdate(">>", ">", "#", "text", "*", "@", "?", "~")
	case n < 60:
		return g.attemptUpdate("<", "<<")
	case n < 72:
		return g.attemptOperation()
	case n < 85:
		return g.attemptAppointment()
	}
	return g.attemptCreate()
}

// anySeen returns a random asset of a type that is not deleted and that the sender sees, or nil if there is
// none.
func (g *generator) anySeen(typ string) *thing {
	all := slices.DeleteFunc(g.sorted(typ), func(t *thing) bool { return g.gone(t) || !g.sees.visible(g.world, t) })
	if len(all) == 0 {
		return nil
	}
	if own := g.things[g.sees.member]; own.typ == typ && g.chance(30) {
		return own
	}
	return one(g, all...)
}

// seenRef returns a reference to a random asset of a type that is not deleted and that the sender sees, or
// nil if there is none. For roles and states it returns any asset of the type.
func (g *generator) seenRef(typ string) any {
	if typ == "Role" || typ == "State" || typ == "StoryStatus" || typ == "TaskStatus" {
		return g.pick(typ)
	}
	if t := g.anySeen(typ); t != nil {
		return ref{t.label, t.typ}
	}
	return nil
}

// tried are the types that attempts use. A type that is listed several times is used more often.
var tried = []string{"Scope", "Scope", "Theme", "Epic", "Story", "Story", "Story", "Task", "Member", "Member", "Note", "Note", "Schedule", "Timebox"}

// attemptUpdate returns a command that changes an attribute of one of the kinds.
func (g *generator) attemptUpdate(kinds ...string) *command {
	for range 5 {
		t := g.anySeen(one(g, tried...))
		if t == nil {
			continue
		}
		all := slices.DeleteFunc(g.attrs(t.typ), func(a attr) bool {
			return a.readOnly || !slices.Contains(kinds, a.kind) || wellKnown(ref{label: t.label}) && a.name == "Name"
		})
		if len(all) == 0 {
			continue
		}
		a := one(g, all...)
		v := g.value(t.typ, a, 0, true)
		if a.to != "" {
			v = g.seenRef(g.below(t.typ, a))
		}
		if c := (&command{from: ref{t.label, t.typ}, update: obj{{key: a.name, val: v}}}); v != nil {
			return c
		}
	}
	return nil
}

// attemptMove returns a command that moves an asset to another project, or sets the schedule of a project.
// It writes the relation from one of its two ends.
func (g *generator) attemptMove() *command {
	scope := g.seenRef("Scope")
	typ, name, back := one(g, "Story", "Story", "Epic", "Theme"), "Scope", "Workitems"
	switch n := g.IntN(100); {
	case n < 30:
		typ, name, back = "Scope", "Parent", "Children"
	case n < 45:
		typ, name, back = "Schedule", "ScheduledScopes", "Schedule"
	}
	moved := g.seenRef(typ)
	if scope == nil || moved == nil {
		return nil
	}
	return one(g,
		&command{from: moved, update: obj{{key: name, val: scope}}},
		&command{from: scope, update: obj{{key: back, val: moved}}})
}

func (g *generator) attemptOperation() *command {
	t := g.anySeen(one(g, tried...))
	if t == nil || wellKnown(ref{label: t.label}) {
		return nil
	}
	var all []string
	for _, name := range []string{"Delete", "Inactivate", "Close", "QuickClose", "QuickSignup", "MakeTemplate", "Activate", "MakeFuture"} {
		if op, ok := operations[t.typ][name]; ok && op.fits(t.state) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &command{from: ref{t.label, t.typ}, op: one(g, all...)}
}

// attemptAppointment returns a command that gives or removes a role in a project, or sets a DefaultRole.
func (g *generator) attemptAppointment() *command {
	scope, member := g.seenRef("Scope"), g.seenRef("Member")
	if scope == nil || member == nil {
		return nil
	}
	role := func(other string, v any) []obj {
		return []obj{{{key: other, val: v}, {key: "Role", val: g.role()}, {key: "IsOwner", val: g.chance(50)}}}
	}
	does := one(g, "add", "remove")
	return one(g,
		&command{from: scope, op: "AssignMemberWithRole", args: role("Member", member)},
		&command{from: member, op: "AssignToScopeWithRole", args: role("Scope", scope)},
		&command{from: scope, update: obj{{key: "Members", val: obj{{key: does, val: member}}}}},
		&command{from: member, update: obj{{key: "Scopes", val: obj{{key: does, val: scope}}}}},
		&command{from: member, update: obj{{key: "DefaultRole", val: g.role()}}})
}

// attemptCreate returns a command that creates an asset. The required relations of the asset refer to
// assets that the sender sees.
func (g *generator) attemptCreate() *command {
	c := g.create(one(g, tried...), 0, nil)
	for i, p := range c.attrs {
		if a, known := attrOf(c.typ, p.key); known && a.required && a.kind == ">" {
			c.attrs[i].val = g.seenRef(g.below(c.typ, a))
		}
	}
	return &command{create: c}
}
