package modeltest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// sequence is a list of requests that are sent one after another to a new database.
type sequence []*request

// generate returns the sequence for a seed. It also executes the requests on the model, so that later
// requests can refer to assets that earlier requests created.
func generate(seed uint64, start starts) sequence {
	grown := seed%grownEvery == 0
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), world: start[grown].clone(), grown: grown}
	var all sequence
	if g.chance(85) {
		all = append(all, g.setting())
		g.run(all[0])
	}
	for range 1 + g.IntN(6) {
		g.by = g.sender()
		g.sees = g.rightsOf(g.by)
		r := g.request()
		g.run(r)
		all = append(all, r)
	}
	return all
}

// setting returns a request that creates assets of every type and gives roles to members.
func (g *generator) setting() *request {
	n := 0
	thing := func(typ, name string, attrs ...pair) *create {
		n++
		return &create{label: fmt.Sprintf("%s#s%d", typ, n), typ: typ, attrs: append(append(obj{{key: "Name", val: name}}, attrs...), g.settled(typ)...)}
	}
	in := func(key string, v ...any) pair {
		if len(v) == 1 {
			return pair{key: key, val: v[0]}
		}
		return pair{key: key, val: v}
	}
	root, role := in("Scope", ref{"Scope:0", "Scope"}), in("DefaultRole", "Tester")
	days := []pair{in("BeginDate", "2026-01-01"), in("EndDate", "2026-01-15")}
	scope := thing("Scope", "p", in("Parent", ref{"Scope:0", "Scope"}), days[0])
	scope.alias = "@p"
	sub := thing("Scope", "q", in("Parent", one[any](g, alias("@p"), ref{"Scope:0", "Scope"})), days[0])
	sub.alias = "@q"
	r := &request{by: "Member:20", grown: g.grown}
	for _, c := range []*create{
		scope,
		sub,
		thing("Member", "a", in("Nickname", "x"), role), thing("Member", "b", in("Nickname", "y"), role, in("Username", "u1")),
		thing("Schedule", "s", in("ScheduledScopes", one(g, alias("@p"), alias("@q"))), in("Timeboxes", thing("Timebox", "a", days...), thing("Timebox", "b", append(days, in("State", "Active"))...))),
		thing("Theme", "t", root), thing("Epic", "c", root),
		thing("Epic", "e", in("Scope", alias("@p")), in("Subs", thing("Epic", "b"),
			thing("Story", "a", in("Scope", one(g, alias("@p"), alias("@q"))), in("ToDo", 2.0), in("Children", thing("Task", "a", in("ToDo", 1.0)), thing("Task", "d"))), thing("Story", "b"))),
		thing("Story", "d", in("Scope", one(g, alias("@p"), alias("@q"))), in("Notes", thing("Note", "n", in("Content", "text")))),
		thing("Story", "c", root, in("Notes", thing("Note", "n", in("Content", "text")))),
	} {
		r.commands = append(r.commands, &command{create: c})
	}
	for _, name := range []string{"m", "n", "o"} {
		member := thing("Member", name, in("Nickname", name), in("DefaultRole", g.role()))
		member.alias = "@" + name
		r.commands = append(r.commands, &command{create: member})
		for _, at := range []any{ref{"Scope:0", "Scope"}, alias("@p"), alias("@q")} {
			if g.chance(55) {
				args := obj{in("Member", alias("@"+name)), in("Role", g.role()), in("IsOwner", g.chance(50))}
				r.commands = append(r.commands, &command{from: at, op: "AssignMemberWithRole", args: []obj{args}})
			}
		}
	}
	return r
}

// role returns a random role. Roles with many rights are chosen more often.
func (g *generator) role() ref {
	n := one(g, 0, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12, 12)
	return ref{fmt.Sprintf("Role:%d", n), "Role"}
}

// sender returns the label of the member who sends a request: the administrator or another active member.
// Members who have some rights but not all are chosen more often.
func (g *generator) sender() string {
	var all []string
	for _, m := range g.sorted("Member") {
		if m.state == 64 {
			all = append(all, m.label)
		}
	}
	if len(all) == 0 || slices.Contains(all, "Member:20") && g.chance(25) {
		return "Member:20"
	}
	by := one(g, all...)
	if r := g.rightsOf(by); (r.admin() || r.anywhere == 0) && g.chance(70) {
		return one(g, all...)
	}
	return by
}

// generator creates random requests.
type generator struct {
	*rand.Rand
	*world
	grown   bool   // true: the model has custom attributes
	by      string // label of the member who sends the request
	sees    *rights
	n       int              // number of labels so far
	ranked  bool             // true: the payload already has a change of rank
	defined map[string][]any // by type: aliases that the payload has defined so far
}

// chance returns true with the given probability in percent.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func one[T any](g *generator, all ...T) T { return all[g.IntN(len(all))] }

func (g *generator) request() *request {
	g.defined, g.ranked = map[string][]any{}, false
	r := &request{by: g.by, grown: g.grown, atomic: g.chance(5), counts: g.chance(5), yaml: g.chance(10), preview: g.chance(15)}
	if g.chance(6) {
		r.most = 1 + g.IntN(3)
	}
	r.imports = g.chance(15) && (g.sees.admin() || g.chance(20))
	r.preview = r.preview && !r.config()
	if g.chance(15) { // without other commands, because adopt gives labels in the order of ids
		r.commands = append(r.commands, g.copying())
		r.preview = false
		return r
	}
	for range 1 + g.IntN(8) {
		c := g.command()
		r.commands = append(r.commands, c)
		r.preview = r.preview && c.junk == "" && !c.nests()
	}
	return r
}

func (g *generator) command() *command {
	if !g.sees.admin() && g.chance(65) {
		if c := g.attempt(); c != nil {
			return c
		}
	}
	switch n := g.IntN(100); {
	case n < 40:
		return &command{create: g.create(one(g, "Scope", "Theme", "Epic", "Epic", "Story", "Story", "Story", "Task", "Task", "Member", "Note", "Schedule", "Timebox"), 2, nil)}
	case n < 68:
		return g.update()
	case n < 80:
		return g.operation()
	case n < 84:
		return g.burial()
	case n < 94:
		return g.query()
	}
	return one(g, junk...)
}

// nests reports whether an update contains nested creates. Such updates are not previewed: in a projection,
// the nested creates name the asset as their context and no longer depend on the update.
func (c *command) nests() bool {
	for _, p := range c.update {
		for _, v := range list(p.val) {
			if _, ok := v.(*create); ok {
				return true
			}
		}
	}
	return false
}

// junk are commands that always fail, each with the expected message.
var junk = []*command{
	{junk: `{"AssetType": "Nonsense", "Name": "x"}`, want: "Unknown AssetType: Nonsense"},
	{junk: `{"AssetType": "Workitem", "Name": "x", "Scope": "Scope:0"}`, want: "Abstract AssetType: Workitem"},
	{junk: `{"from": "Nonsense", "update": {"Name": "x"}}`, want: "Unknown AssetType: Nonsense"},
	{junk: `{"from": "Nonsense", "select": ["Name"]}`, want: "Unknown AssetType: Nonsense"},
	{junk: `{"from": "Story:12x", "execute": "Delete"}`, want: "Invalid OID token: Story:12x"},
	{junk: `{"from": "@nowhere", "update": {"Name": "x"}}`, want: "Invalid OID token: @nowhere"},
	{junk: `{"@later": {"from": "@nowhere", "execute": "Delete"}}`, want: "Invalid OID token: @nowhere"},
	{junk: `{"AssetType": "Story", "Name": "x", "Scope": "@nowhere"}`, want: "Invalid OID token: @nowhere"},
	{junk: `{"from": "Story", "select": ["Nonsense"]}`, want: "Unknown AttributeDefinition: Story.Nonsense"},
	{junk: `{"from": "Story", "select": ["Name"], "filter": ["Nonsense='x'"]}`, want: "Invalid QueryFilter2 token Nonsense='x'"},
	{junk: `{"from": "Scope:0", "execute": "Explode"}`, want: "Unknown Operation 'Scope.Explode'"},
	{junk: `{"from": "Scope:0", "update": {"Nonsense": 1}}`, want: "Unknown AttributeDefinition: Scope.Nonsense"},
	{junk: `{"from": "Scope:0", "update": {"Name": ""}}`, want: "Violation'Required'Scope.Name"},
	{junk: `{"from": "Scope:0", "update": {"BeginDate": "2026-02-30"}}`, want: "Violation'Invalid'Scope.BeginDate"},
	{junk: `{"wolf": 1}`, want: "The object holds no command: it has none of AssetType, from, oid, config."},
	{junk: `5`, want: "A command must be an object, not a number."},
}

// suggested has the attributes that a nested create gets from its parent if it does not set them. The key
// is "type in parent type".
var suggested = map[string]map[string]bool{
	"Story in Epic": {"Name": true, "Description": true}, "Epic in Epic": {"Name": true, "Description": true}, "Scope in Scope": {"BeginDate": true},
	"Timebox in Schedule": {"Name": true, "BeginDate": true, "EndDate": true, "State": true},
}

// label returns a new label for an asset that a command creates.
func (g *generator) label(typ string) string {
	g.n++
	return fmt.Sprintf("%s#%d", typ, g.n)
}

// create returns a random create command. If it is nested, up has the type of its parent.
func (g *generator) create(typ string, depth int, up []string) *create {
	c := &create{label: g.label(typ), typ: typ}
	var named string
	if g.chance(35) {
		c.alias = "@" + strings.ReplaceAll(c.label, "#", "")
		named = c.alias
	}
	if g.chance(2) && len(g.defined[typ]) > 0 && up == nil {
		c.alias, named = string(one(g, g.defined[typ]...).(alias)), ""
	}
	skip := ""
	if g.chance(2) { // sometimes, leave out a required attribute
		skip = one(g, "Name", "Scope", "Parent", "Schedule", "Asset", "Nickname")
	}
	for _, a := range g.attrs(typ) {
		switch {
		case a.readOnly || a.name == skip:
		case len(up) > 0 && suggested[typ+" in "+up[0]][a.name] && g.chance(60):
		case a.required && len(up) > 0 && implied(typ, up[0], a.name) && g.chance(80):
		case a.required && a.name == "Scope" && len(up) > 0 && g.chance(60):
		case a.required && a.name == "Asset" && len(up) > 0:
		case a.required && a.name == "Personal":
			if g.chance(40) {
				c.attrs = append(c.attrs, pair{key: a.name, val: g.chance(50)})
			}
		case a.required || g.chance(22):
			c.attrs = append(c.attrs, pair{key: a.name, val: g.value(typ, a, depth, true)})
		}
	}
	if g.chance(4) {
		c.attrs = append(c.attrs, pair{key: "CreatedBy", val: g.pick("Member")})
	}
	if g.chance(3) {
		f := g.fault(typ)
		c.attrs = append(without(c.attrs, f.key), f)
	}
	if named != "" {
		g.defined[typ] = append(g.defined[typ], alias(named))
	}
	return c
}

// wellKnown reports whether an asset is the root project or the administrator. No request deletes or
// renames them, because junk depends on them.
func wellKnown(r ref) bool { return r.label == "Scope:0" || r.label == "Member:20" }

// target returns the from and where of a random command, and the type of its targets. typ is empty if the
// target is the root project or the administrator.
func (g *generator) target() (from any, where obj, typ string) {
	typ = one(g, "Scope", "Theme", "Epic", "Epic", "Story", "Story", "Story", "Task", "Task", "Member", "Note", "Timebox")
	switch n := g.IntN(100); {
	case n < 50:
		for range 5 {
			v := g.pick(typ)
			switch x := v.(type) {
			case ref:
				if isA(x.typ, typ) && !wellKnown(x) {
					if g.chance(15) {
						where = g.where(typ)
					}
					return v, where, typ
				}
			case alias:
				return v, nil, typ
			}
		}
	case n < 54:
		return one(g, ref{"Scope:0", "Scope"}, ref{"Member:20", "Member"}), nil, ""
	case n < 62 && len(g.defined[typ]) > 0:
		return one(g, g.defined[typ]...), nil, typ
	}
	return typ, g.where(typ), typ
}

func (g *generator) update() *command {
	c := &command{}
	var typ string
	c.from, c.where, typ = g.target()
	c.update = obj{}
	known := typ == ""
	if known {
		typ = c.from.(ref).typ
	}
	for _, a := range g.attrs(typ) {
		if known && a.name == "Name" || a.readOnly || !g.chance(18) || a.name == "Username" && c.where != nil {
			continue
		}
		_, byRef := c.from.(ref)
		c.update = append(c.update, pair{key: a.name, val: g.said(typ, a, byRef)})
	}
	if rankSpace[typ] != "" && g.chance(8) {
		_, byRef := c.from.(ref)
		c.update = append(c.update, pair{key: "Order", val: g.order(typ, byRef)})
	}
	if g.chance(4) {
		f := g.fault(typ)
		c.update = append(without(c.update, f.key), f)
	}
	if c.where != nil && g.chance(10) {
		c.alias = "@" + strings.ReplaceAll(g.label("later"), "#", "")
	}
	return c
}

// order returns a random change of rank. In each request, only the first change may use the rank that an
// asset had before the request.
func (g *generator) order(typ string, single bool) any {
	if g.chance(8) {
		return one[any](g, "+", "none-", "0+", "99999999999+", "-5-", 5.0, true, "")
	}
	first := !g.ranked
	g.ranked = true
	if there := g.ranks[rankSpace[typ]]; first && single && len(there) > 0 && g.chance(50) {
		return stood{ref{label: one(g, there...)}, g.chance(50)}
	}
	return obj{{key: one(g, "Before", "After"), val: g.pick(typ)}}
}

func (g *generator) operation() *command {
	c := &command{}
	var typ string
	for typ == "" {
		c.from, c.where, typ = g.target()
	}
	var all []string
	for _, name := range []string{"Delete", "Delete", "Undelete", "Inactivate", "Reactivate", "Close", "QuickClose", "QuickSignup", "MakeTemplate", "Activate", "MakeFuture", "AssignMemberWithRole", "AssignToScopeWithRole"} {
		if _, ok := operations[typ][name]; ok || g.chance(4) && !strings.HasPrefix(name, "Assign") {
			all = append(all, name)
		}
	}
	c.op = one(g, all...)
	if strings.HasPrefix(c.op, "Assign") {
		other := "Member"
		if typ == "Member" {
			other = "Scope"
		}
		for range 1 + g.IntN(2) {
			c.args = append(c.args, obj{{key: other, val: g.pick(other)}, {key: "Role", val: g.pick("Role")}, {key: "IsOwner", val: g.chance(50)}})
		}
	}
	if c.where != nil && g.chance(10) {
		c.alias = "@" + strings.ReplaceAll(g.label("later"), "#", "")
	}
	return c
}

// burial returns a command that deletes or undeletes all projects, stories or tasks with a name. Some of
// these assets belong to other assets that the command also finds.
func (g *generator) burial() *command {
	c := &command{op: one(g, "Delete", "Undelete")}
	names := map[string][]string{"Scope": {"p", "q"}, "Story": {"a"}, "Task": {"a", "d"}, "PrimaryWorkitem": {"a"}, "Workitem": {"a", "d"}}
	typ := one(g, "Scope", "Story", "Story", "Task", "PrimaryWorkitem", "Workitem")
	c.from, c.where = typ, obj{{key: "Name", val: one(g, names[typ]...)}}
	if c.op == "Undelete" || g.chance(20) {
		c.where = append(c.where, pair{key: "IsDeleted", val: c.op == "Undelete" || g.chance(20)})
	}
	return c
}

// copying returns a command with an operation that creates assets, for one or several targets.
func (g *generator) copying() *command {
	c := &command{from: "Task", op: "DeepCopy", where: obj{{key: "Name", val: one(g, "a", "d")}}}
	if g.chance(80) {
		c = &command{from: "Story", op: one(g, "Copy", "DeepCopy", "ShallowCopy", "Split", "Breakdown"), where: g.where("Story")}
		if r, ok := g.pick("Story").(ref); ok && r.typ == "Story" {
			c.from, c.where = r, nil
		}
	}
	return c
}

func (g *generator) query() *command {
	typ := one(g, "Scope", "Epic", "Story", "Story", "Task", "Workitem", "Member")
	c := &command{from: typ, sel: []string{"Name", "Reference"}}
	switch typ {
	case "Member":
		c.sel = []string{"Name", "Nickname"}
	case "Scope":
	default:
		c.sel = append(c.sel, "Scope", "Owners")
	}
	c.sel = append(c.sel, g.selectCustom(typ)...)
	g.orderCustom(c, typ)
	if all := g.defined[typ]; len(all) > 0 && g.chance(20) {
		c.from = one(g, all...)
	}
	if tables[typ] != "" && g.chance(50) {
		c.where = g.where(typ)
	}
	return c
}
