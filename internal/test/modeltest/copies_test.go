package modeltest

import (
	"fmt"
	"maps"
	"slices"
)

// copying has the operations that create assets, by type. A response does not contain the Oids of these
// assets.
var copying = map[string]map[string]operation{
	"Story": {
		"Copy": {nil, -1, ""}, "DeepCopy": {nil, -1, ""}, "ShallowCopy": {nil, -1, ""},
		"Split": {[]int{64}, -1, ""}, "Breakdown": {[]int{64}, 208, ""},
	},
	"Task": {"DeepCopy": {nil, -1, ""}},
}

// copies executes an operation of copying on the asset c.me.
func (k *work) copies(c *change, op string) error {
	src := c.me
	if op == "Breakdown" {
		return k.breakDown(c)
	}
	made := k.spawn(src.typ)
	if err := k.inherit(made, src); err != nil {
		return err
	}
	if op == "Split" {
		made.one["SplitFrom"] = src.label
	}
	for _, task := range k.sorted("Task") {
		if task.one["Parent"] != src.label || task.state == 255 {
			continue
		}
		switch {
		case op == "Split" && task.state < 128:
			task.one["Parent"] = made.label
		case op == "Copy" || op == "DeepCopy":
			below := k.spawn("Task")
			if err := k.inherit(below, task); err != nil {
				return err
			}
			below.one["Parent"] = made.label
		}
	}
	return nil
}

// breakDown creates an epic from the story c.me.
func (k *work) breakDown(c *change) error {
	epic := k.spawn("Epic")
	if err := k.inherit(epic, c.me); err != nil {
		return err
	}
	if v, has := c.me.val["Estimate"]; has {
		epic.val["Swag"] = v
	}
	c.me.one["MorphedInto"] = epic.label
	return nil
}

// blank returns a new asset that the sender creates. The asset is not in the world yet.
func (k *work) blank(label, typ string) *thing {
	t := &thing{label: label, typ: typ, nr: len(k.things), state: 64, val: map[string]string{}, one: map[string]string{}}
	if k.member != "Member:20" {
		t.one["CreatedBy"] = k.member
	}
	return t
}

func (k *work) spawn(typ string) *thing {
	t := k.blank(fmt.Sprintf("%s#made%d", typ, len(k.things)), typ)
	k.things[t.label] = t
	k.ranks[rankSpace[typ]] = append(k.ranks[rankSpace[typ]], t.label)
	return t
}

// inherit copies the attributes of src that the type of t also has. It does not copy references to deleted
// assets.
func (k *work) inherit(t, src *thing) error {
	alive := func(label, typ string) bool {
		x := k.things[label]
		return x != nil && !k.gone(x) && isA(x.typ, typ)
	}
	for _, a := range attrs[t.typ] {
		from, has := attrOf(src.typ, a.name)
		if a.name == "Description" || t.typ == "Epic" && (a.name == "ToDo") {
			continue
		}
		if has && from.kind == a.kind && !a.readOnly {
			k.inheritOne(t, src, a, alive)
		}
		if _, one := t.one[a.name]; a.required && !one && t.val[a.name] == "" {
			return violation("Required", t.typ, a.name)
		}
	}
	if v, has := src.val["Description"]; has {
		t.val["Description"] = v
	}
	t.tags = slices.Clone(src.tags)
	return nil
}

func (k *work) inheritOne(t, src *thing, a attr, alive func(label, typ string) bool) {
	switch a.kind {
	case ">":
		if l := src.one[a.name]; l != "" && alive(l, a.to) {
			t.one[a.name] = l
		}
	case ">>":
		for l := range maps.Clone(k.links) {
			if l.attr == a.name && l.from == src.label && alive(l.to, a.to) {
				k.links[link{a.name, t.label, l.to}] = true
			}
		}
	case "<", "<<", "*":
	default:
		if v, has := src.val[a.name]; has {
			t.val[a.name] = v
		}
	}
}
