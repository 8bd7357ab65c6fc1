package modeltest

import (
	"strings"
)

func without(o obj, key string) obj {
	var rest obj
	for _, p := range o {
		if p.key != key {
			rest = append(rest, p)
		}
	}
	return rest
}

// fault returns a random attribute whose value must be refused.
func (g *generator) fault(typ string) pair {
	return one(g,
		pair{key: "Nonsense", val: "x"}, pair{key: "Number", val: "S-1"}, pair{key: "Name", val: strings.Repeat("x", 4001)},
		pair{key: "Owners", val: "nobody at all"}, pair{key: "Estimate", val: "many"}, pair{key: "Scope", val: ref{"", "Scope"}},
		pair{key: "Parent", val: ref{"Member:20", "Member"}}, pair{key: "Name", val: obj{{key: "a", val: 1.0}}})
}

// value returns a random value for an attribute.
func (g *generator) value(typ string, a attr, depth int, creating bool) any {
	switch a.kind {
	case "#":
		return one[any](g, 1.0, 2.5, 0.0, "3", "", nil)
	case "@":
		return one[any](g, "2026-01-01", "2026-02-03")
	case "?":
		if !a.required {
			return one[any](g, true, false, "True", "", nil)
		}
		return one[any](g, true, false, "True")
	case "~":
		return one[any](g, "5 Days", "3 Weeks", "1 Months", "", nil)
	case "*":
		if !creating && g.chance(30) {
			return obj{{key: "find", val: one[any](g, "red", "blue", "Green", "RÉD", "😁", "fi", nil)}, {key: "replace", val: one[any](g, "green", "RED", "pink", "", nil)}}
		}
		return one[any](g, "red", []any{"red", "blue"}, []any{"Red", "green"}, nil, "", []any{"red", ""},
			[]any{"😀", "😁"}, []any{"réd", "re\u0301d", "ﬁ"}, []any{"fi", "red ", "RED\u200b"}, "RÉD", []any{"Straße", "STRASSE", "STRAßE"})
	case "text":
		if a.name == "Username" {
			return one[any](g, "u1", "u2", "U3", "u4", "u5", "u6", "😀", "🚀", "é", "e\u0301", "É", "e", "ς", "Σ", "u1\u200b", "u1 ", "K", "k", "ß", "ss")
		}
		if a.required {
			return one[any](g, "a", "b", "c", "d", "B", 7.0, "á", "a\u0301", "a ", "🍎", "🍌", "Ꭰ", "ꭰ")
		}
		return one[any](g, "a", "some text", "", nil, 5.0, true)
	case ">":
		if !a.required && g.chance(8) {
			return one[any](g, nil, "")
		}
		if depth > 0 && g.chance(8) && (a.to == "Epic" || a.to == "Theme" || a.to == "Member") {
			return g.create(a.to, depth-1, nil)
		}
		return g.pick(a.to)
	}
	return g.several(typ, a, depth, creating)
}

// several returns a random value for a to-many relation.
func (g *generator) several(typ string, a attr, depth int, creating bool) any {
	var all []any
	for range 1 + g.IntN(3) {
		switch {
		case depth > 0 && creating && nests[a.name] && g.chance(60):
			all = append(all, g.create(g.below(typ, a), depth-1, []string{typ}))
		case g.chance(6) && a.kind != "<":
			all = append(all, query{"Member", obj{{key: "Name", val: one(g, "a", "b")}}})
		default:
			all = append(all, g.pick(g.below(typ, a)))
		}
	}
	if a.kind == "<" && a.back != "Asset" && g.chance(70) { // existing assets are rarely moved
		kept := []any{}
		for _, v := range all {
			if _, ok := v.(*create); ok {
				kept = append(kept, v)
			}
		}
		all = kept
	}
	if len(all) == 1 && g.chance(50) {
		return all[0]
	}
	if all == nil {
		return []any{}
	}
	return all
}

// nests are the relations in which a command may contain creates.
var nests = map[string]bool{"Subs": true, "Children": true, "Workitems": true, "Timeboxes": true, "Notes": true, "Owners": true, "Dependencies": true, "Dependants": true}

// below returns a concrete type that a relation accepts.
func (g *generator) below(typ string, a attr) string {
	switch {
	case a.to == "Dependent":
		return one(g, "Story", "Story", "Story", "Epic", "Epic", "Theme", "Task")
	case a.name == "Children" && typ == "Story":
		return "Task"
	case a.name == "Children" && typ == "Theme":
		return one(g, "Story", "Theme", "Epic")
	case a.to == "Workitem" && a.back == "Super":
		return one(g, "Story", "Epic")
	case a.to == "Workitem" && typ == "Timebox":
		return "Story"
	case a.to == "Workitem":
		return one(g, "Story", "Epic", "Theme", "Task")
	}
	return a.to
}

// pick returns a value that refers to an asset of a type, mostly by Oid and sometimes by name. Sometimes
// the asset does not exist.
func (g *generator) pick(typ string) any {
	concrete := typ
	switch typ {
	case "PrimaryWorkitem":
		concrete = "Story"
	case "Workitem", "BaseAsset":
		concrete = one(g, "Story", "Epic")
	case "Role":
		return one[any](g, g.role(), g.role(), "Observer", "Role.Name'Tester")
	case "State":
		return one[any](g, ref{"State:100", "State"}, ref{"State:101", "State"}, ref{"State:102", "State"}, "Active")
	case "StoryStatus", "TaskStatus":
		if typ == "TaskStatus" && g.chance(80) {
			return one[any](g, "In Progress", "Completed", "on hold")
		}
		return one[any](g, "In Progress", "in progress", "Done", "Future")
	}
	if all := g.defined[concrete]; len(all) > 0 && g.chance(50) {
		return one(g, all...)
	}
	switch n := g.IntN(100); {
	case n < 1:
		return ref{"", concrete}
	case n < 2:
		return ref{"Role:4", "Role"}
	case n < 3:
		return alias("@undefined")
	case n < 7 && concrete != "Note":
		return one(g, "a", "b", "A\u0301", "á", "A ", "🍎", "🍌", "Ꭰ", "System (All Projects)", "Administrator")
	case n < 10 && concrete == "Member":
		return query{"Member", obj{{key: "Name", val: one(g, "a", "b", "c")}}}
	}
	if all := g.sorted(concrete); len(all) > 0 {
		t := one(g, all...)
		if (t.state == 255 || !g.sees.visible(g.world, t)) && g.chance(70) {
			t = one(g, all...)
		}
		return ref{t.label, t.typ}
	}
	return nil
}

func (g *generator) where(typ string) obj {
	var o obj
	switch g.IntN(4) {
	case 0:
		o = obj{{key: "Name", val: one(g, "a", "b", "c", "B")}}
	case 1:
		if a, ok := attrOf(typ, "Scope"); ok {
			switch v := g.pick(a.to).(type) {
			case ref:
				o = obj{{key: "Scope", val: v}}
			case alias:
				o = obj{{key: "Scope", val: v}}
			}
		}
	case 2:
		o = obj{{key: "Name", val: one(g, "a", "b", "c")}, {key: "IsDeleted", val: true}}
	}
	if g.grown && g.chance(40) {
		if custom := g.whereCustom(typ); custom != nil {
			o = custom
		}
	}
	if o == nil {
		o = obj{{key: "Name", val: one(g, "a", "b", "c", "d")}}
	}
	if g.chance(2) {
		o = append(o, pair{key: "Nonsense", val: "x"})
	}
	return o
}

// said returns a random value for an attribute in an update, in one of the forms that an update may have.
func (g *generator) said(typ string, a attr, nest bool) any {
	switch a.kind {
	case ">>", "<<", "<":
		member := func() any { return g.pick(g.below(typ, a)) }
		switch g.IntN(6) {
		case 0:
			return obj{{key: "add", val: member()}}
		case 1:
			return obj{{key: "remove", val: member()}}
		case 2:
			return obj{{key: "add", val: []any{member(), member()}}, {key: "remove", val: []any{member()}}}
		case 3:
			find, replace := member(), member()
			_, a := find.(query)
			_, b := replace.(query)
			if !a && !b && find != nil {
				return obj{{key: "find", val: find}, {key: "replace", val: replace}}
			}
		case 4:
			var o obj
			seen := map[string]bool{}
			for range 2 {
				switch r := member().(type) {
				case ref:
					if r.label != "" && !seen[r.label] {
						seen[r.label] = true
						o = append(o, pair{of: &r, val: one[any](g, "add", "remove")})
					}
				case alias:
					if !seen[string(r)] {
						seen[string(r)] = true
						o = append(o, pair{key: string(r), val: one[any](g, "add", "remove")})
					}
				}
			}
			if o != nil {
				return o
			}
		}
		if nest && nests[a.name] {
			return []any{g.create(g.below(typ, a), 0, []string{typ}), member()}
		}
		return member()
	case "*":
		return one[any](g, "red", obj{{key: "remove", val: []any{"RED"}}}, obj{{key: "add", val: []any{"blue"}}, {key: "remove", val: []any{"green", "none"}}})
	case "text":
		if g.chance(20) && a.name != "Username" {
			return obj{{key: "find", val: one(g, "a", "b", "text")}, {key: "replace", val: one(g, "b", "a", "")}}
		}
	case ">":
		if g.chance(10) {
			return obj{{key: "add", val: []any{g.pick(a.to)}}, {key: "remove", val: []any{}}}
		}
		if g.chance(6) {
			return nil
		}
	}
	return g.value(typ, a, 0, false)
}
