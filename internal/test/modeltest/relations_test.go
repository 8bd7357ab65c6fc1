package modeltest

import (
	"fmt"
	"maps"
	"slices"
)

// resolve returns the asset that a value refers to by an Oid, an alias or a name. For an empty value it
// returns nil. If the asset has the wrong type or is deleted, it returns the asset and an error.
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

// byName returns the only asset with a name that is visible and not deleted, or nil. If some names match
// exactly, only the assets with these names count. Otherwise names may differ in case and in the form of
// composed characters.
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

// point sets the to-one relation a of an asset. who is that asset, and t is the asset that it then refers
// to. If t is nil, it clears the relation.
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

// nothing reports whether a value is null or empty. If the value of a multi-value attribute is null or
// empty, the attribute does not change.
func nothing(v any) bool { return v == nil || v == "" }

// resolveOut is like resolve, for an asset that is removed from a relation. That asset may be deleted.
func (c *change) resolveOut(a attr, v any) (*thing, error) {
	t, err := c.resolve(a, v)
	if t != nil && isA(t.typ, a.to) {
		err = nil
	}
	return t, err
}

// swap replaces one asset in a relation by another. It does nothing if the first asset is not in the
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

// other returns the attribute of t that is the other end of a, or an error if that is read-only.
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

// appoint gives a member a role in a project. The role replaces the role that the member has there. If role
// is empty, the member loses its role there.
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

// order changes the rank of c.me. A value of type stood uses the rank that another asset had before the
// request: c.me is placed directly before or after that asset. The generator sends such a value only if the
// request has changed no rank before.
func (c *change) order(v any) error {
	a := attr{name: "Order", to: "BaseAsset", says: "BaseAsset"}
	switch x := v.(type) {
	case obj:
		t, err := c.resolve(a, x[0].val)
		if err != nil {
			return err
		}
		return c.place(a, t, x[0].key == "After")
	case stood: // a deleted asset still has its place in the order
		return c.place(a, c.things[x.of.label], x.after)
	}
	return violation("Invalid", c.me.typ, a.name)
}

// roomy is how many changes of rank there may be before two neighbors may have no free rank between them.
// From then on, the engine may change the ranks of other assets, which adds versions to these assets.
const roomy = 5

// place gives c.me the rank directly before or after t.
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
	if slices.Equal(order, c.ranks[space]) { // the asset already has this place
		return nil
	}
	c.ranks[space] = order
	c.touched = true
	if c.places[space]++; c.places[space] > roomy {
		for _, l := range order { // the engine may have changed the rank of this asset, to free a rank
			if l != c.me.label {
				c.things[l].versions = uncounted
			}
		}
	}
	return nil
}

// altered reports whether an asset gets a new version, because its values, links, rank or role have
// changed.
func (c *change) altered(t *thing) bool {
	old, was := c.before.things[t.label]
	if !was || !t.equal(old) {
		return true
	}
	space := rankSpace[t.typ]
	same := maps.Equal(c.links, c.before.links) && maps.Equal(c.roles, c.before.roles) && slices.Equal(c.ranks[space], c.before.ranks[space])
	return t == c.me && c.touched && !same
}

// settle sets the relations that follow from other relations, on all assets: Scope and Timebox of tasks,
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
