package modeltest

import (
	"fmt"
	"maps"
	"slices"
)

// resolve finds the thing that a value names by an Oid token, an alias or a name. It returns nil
// for an empty value. If the thing has the wrong type or is deleted, it returns the thing and an
// error.
func (c *change) resolve(a attr, v any) (*thing, error) {
	var t *thing
	switch x := v.(type) {
	case nil:
		return nil, nil
	case error:
		return nil, x
	case alias:
		label, ok := c.made[x]
		if !ok {
			return nil, fmt.Errorf("Invalid OID token: %s", x)
		}
		t = c.things[label]
	case ref:
		if t = c.things[x.label]; t == nil || !c.rights.visible(c.world, t) {
			t = nil
			return nil, violation("Invalid", c.me.typ, a.name)
		}
	case string:
		if x == "" {
			return nil, nil
		}
		if t = c.byName(a.to, x); t == nil {
			return nil, fmt.Errorf("Resolution'Unresolved'%s.%s'%s", c.me.typ, a.name, a.says)
		}
	default:
		return nil, fmt.Errorf("Resolution'Unresolved'%s.%s'%s", c.me.typ, a.name, a.says)
	}
	if !isA(t.typ, a.to) || c.gone(t) {
		return t, violation("Invalid", c.me.typ, a.name)
	}
	return t, nil
}

// byName returns the only live and visible thing with a name, or nil. An exact match is
// preferred. Otherwise neither case nor the form of composed characters matters.
func (c *change) byName(typ, name string) *thing {
	attrs := []string{"Name"}
	if typ == "Member" {
		attrs = []string{"Name", "Nickname", "Username"}
	}
	for _, attr := range attrs {
		var exact, alike []*thing
		for _, t := range c.before.sorted(typ) {
			v, has := t.val[attr]
			switch {
			case c.before.gone(t) || !has || !c.rights.visible(c.world, t):
			case v == name || v == typ+".Name'"+name:
				exact = append(exact, t)
			case sameText(v, name):
				alike = append(alike, t)
			}
		}
		if len(exact) == 0 {
			exact = alike
		}
		switch len(exact) {
		case 0:
		case 1:
			return c.things[exact[0].label]
		default:
			return nil
		}
	}
	return nil
}

func (c *change) toOne(a attr, v any) error {
	_, _, replace := findReplace(v)
	v, ok := single(v)
	if !ok || replace {
		return violation("Invalid", c.me.typ, a.name)
	}
	t, err := c.resolve(a, v)
	if err != nil {
		return err
	}
	return c.point(c.me, a, t, c.fresh)
}

// point sets the to-one relation a of who to t. If t is nil, it removes the relation.
func (c *change) point(who *thing, a attr, t *thing, fresh bool) error {
	if t == nil {
		if a.required && !fresh {
			return violation("Required", who.typ, a.name)
		}
		delete(who.one, a.name)
		return nil
	}
	if !isA(t.typ, a.to) {
		return violation("Invalid", who.typ, a.name)
	}
	if trees[a.name] {
		for at := t; at != nil; at = c.things[at.one[a.name]] {
			if at == who {
				return violation("Invalid", who.typ, a.name)
			}
		}
	}
	who.one[a.name] = t.label
	return nil
}

func (c *change) toMany(a attr, v any) error {
	if nothing(v) {
		return nil
	}
	if find, replace, ok := findReplace(v); ok {
		return c.swap(a, find, replace)
	}
	var add, remove []any
	switch x := v.(type) {
	case obj:
		var ok bool
		if add, remove, ok = addRemove(x, true); !ok {
			return violation("Invalid", c.me.typ, a.name)
		}
	default:
		add = list(v)
	}
	for _, v := range remove {
		t, err := c.resolveOut(a, v)
		if err == nil && t == nil {
			err = violation("Invalid", c.me.typ, a.name)
		}
		if err == nil {
			err = c.takeOut(a, t)
		}
		if err != nil {
			return err
		}
	}
	for _, v := range add {
		t, err := c.resolve(a, v)
		if err == nil && t == nil {
			err = violation("Invalid", c.me.typ, a.name)
		}
		if err == nil {
			err = c.putIn(a, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nothing reports whether a value is null or empty. As the whole value of a list, it changes
// nothing.
func nothing(v any) bool { return v == nil || v == "" }

// resolveOut is resolve for a thing to remove, which may be deleted.
func (c *change) resolveOut(a attr, v any) (*thing, error) {
	t, err := c.resolve(a, v)
	if t != nil && isA(t.typ, a.to) {
		err = nil
	}
	return t, err
}

// swap replaces one member of a relation by another. It does nothing if the first is not in the
// relation.
func (c *change) swap(a attr, find, replace any) error {
	old, err := c.resolveOut(a, find)
	if err != nil || old == nil {
		return err
	}
	next, err := c.resolve(a, replace)
	if err != nil || !c.isIn(a, old) {
		return err
	}
	if err := c.takeOut(a, old); err != nil || next == nil {
		return err
	}
	return c.putIn(a, next)
}

func (c *change) isIn(a attr, t *thing) bool {
	if a.kind == "<" {
		return t.one[a.back] == c.me.label
	}
	return c.links[c.link(a, t)]
}

// other returns the to-one attribute of t whose reverse side is a.
func (c *change) other(a attr, t *thing) (attr, error) {
	b, ok := attrOf(t.typ, a.back)
	if !ok || b.readOnly {
		return b, violation("ReadOnly", c.me.typ, a.name)
	}
	return b, nil
}

func (c *change) putIn(a attr, t *thing) error {
	if a.kind == "<" {
		b, err := c.other(a, t)
		if err != nil {
			return err
		}
		c.holders[t.label] = b.name
		return c.point(t, b, c.me, false)
	}
	l := c.link(a, t)
	if c.links[l] {
		return nil
	}
	c.links[l], c.touched = true, true
	if l.attr == "Members" {
		c.appoint(l.from, l.to, c.things[l.to].one["DefaultRole"])
	}
	return nil
}

func (c *change) takeOut(a attr, t *thing) error {
	if !c.isIn(a, t) {
		return nil
	}
	if a.kind == "<" {
		b, err := c.other(a, t)
		if err != nil {
			return err
		}
		c.holders[t.label] = b.name
		return c.point(t, b, nil, false)
	}
	l := c.link(a, t)
	delete(c.links, l)
	c.touched = true
	if l.attr == "Members" {
		c.appoint(l.from, l.to, "")
	}
	return nil
}

// appoint sets the role of a member in a project, and replaces the role held there. An empty role
// removes it.
func (c *change) appoint(scope, member, role string) {
	key := [2]string{scope, member}
	if held, ok := c.roles[key]; ok && held != role {
		c.appointments = append(c.appointments, appointment{scope, held})
	}
	delete(c.roles, key)
	if role != "" {
		c.appointments = append(c.appointments, appointment{scope, role})
		c.roles[key] = role
	}
}

// order changes the rank. A rank from before the request means the place of the asset that had this
// rank. The generator uses such a rank only if nothing was ranked before in the same request.
func (c *change) order(v any) error {
	a := attr{name: "Order", to: "BaseAsset", says: "BaseAsset"}
	switch x := v.(type) {
	case obj:
		t, err := c.resolve(a, x[0].val)
		if err != nil {
			return err
		}
		return c.place(a, t, x[0].key == "After")
	case stood: // a deleted asset keeps its place
		return c.place(a, c.things[x.of.label], x.after)
	}
	return violation("Invalid", c.me.typ, a.name)
}

// roomy is how often things may be ranked in a space before two ranks may have no room between
// them. After that, the engine may change the ranks of other things, which adds versions.
const roomy = 5

// place ranks a thing directly before or after another.
func (c *change) place(a attr, t *thing, after bool) error {
	space := rankSpace[c.me.typ]
	if t == nil || rankSpace[t.typ] != space {
		return violation("Invalid", c.me.typ, a.name)
	}
	if t == c.me {
		return nil
	}
	order := slices.DeleteFunc(slices.Clone(c.ranks[space]), func(l string) bool { return l == c.me.label })
	at := slices.Index(order, t.label)
	if after {
		at++
	}
	order = slices.Insert(order, at, c.me.label)
	if slices.Equal(order, c.ranks[space]) { // it has this place already
		return nil
	}
	c.ranks[space] = order
	c.touched = true
	if c.places[space]++; c.places[space] > roomy {
		for _, l := range order { // the engine may have changed its rank to make room
			if l != c.me.label {
				c.things[l].versions = uncounted
			}
		}
	}
	return nil
}

// altered reports whether a thing gets a version: its values, links, rank or role changed.
func (c *change) altered(t *thing) bool {
	old, was := c.before.things[t.label]
	if !was || !t.equal(old) {
		return true
	}
	space := rankSpace[t.typ]
	same := maps.Equal(c.links, c.before.links) && maps.Equal(c.roles, c.before.roles) && slices.Equal(c.ranks[space], c.before.ranks[space])
	return t == c.me && c.touched && !same
}

// settle sets the relations that follow from others, on all things: Scope and Timebox of tasks,
// and SecurityScope of notes.
func (w *world) settle() {
	follow := func(t, up *thing, mine, theirs string) {
		delete(t.one, mine)
		if up != nil && up.one[theirs] != "" {
			t.one[mine] = up.one[theirs]
		}
	}
	for _, t := range w.things {
		if t.typ == "Task" {
			follow(t, w.things[t.one["Parent"]], "Scope", "Scope")
			follow(t, w.things[t.one["Parent"]], "Timebox", "Timebox")
		}
	}
	for _, t := range w.things { // after the tasks, because a note may belong to a task
		if t.typ == "Note" {
			on := w.things[t.one["Asset"]]
			follow(t, on, "SecurityScope", "Scope")
			if on != nil && on.typ == "Scope" {
				t.one["SecurityScope"] = on.label
			}
		}
	}
}
