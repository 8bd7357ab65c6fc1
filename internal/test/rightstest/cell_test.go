package rightstest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cell is one test case: one member does one thing to an asset of one type, by one path. A path is a way to
// send a write, such as a bulk request.
type cell struct {
	who             *member
	typ, verb, path string
	name            string  // name of the attribute or operation
	slots           []*slot // assets that the cell uses; their placeholders are $0, $1, ...
	changes         bool    // true: if the command succeeds, it must change the last asset in slots
	parts           []part  // in order; parts after the first failed part are not executed
	whole           bool    // true: if one part fails, no part creates anything
	command         attrs   // command for a bulk request
	url             string  // URL path of other requests; body is their body
	body            attrs
	noMatch         bool // true: no failure if the member does not see the asset; the command just finds nothing
	want            outcome
	got             outcome
}

// part is one command of a cell: the assets that it names, the rights that the member needs for it, and the
// assets that it creates.
type part struct {
	uses   []use // assets that the member must see; the asset that is written comes first
	needs  []need
	makes  []string
	raises bool // true: a move of a project that gives somebody a role that the member may not give
}

// need is a right on a thing that a member needs for a command.
type need struct {
	thing
	verb, name string
}

// texts returns the messages with which the service may answer if the member lacks the right.
func (n need) texts() []string {
	var all []string
	if word := map[string]string{create: "Create", change: "Change", del: "Delete", relate: "Relate"}[n.verb]; word != "" {
		all = append(all, word)
	}
	if n.name != "" && (n.verb == operate || n.verb == change) {
		all = append(all, n.name)
	}
	for i := range all {
		all[i] = "Denied'" + n.typ + "." + all[i]
	}
	return all
}

// use is an asset that a request names. text is the message if the member does not see the asset.
type use struct {
	slot *slot
	text string
}

// The ways in which a cell can end.
const (
	done     = "done"
	denied   = "denied"
	unseen   = "unseen"
	notFound = "404"
	nothing  = "nothing found"
)

// outcome says how a cell ended, or how it must end. texts are the messages that are possible then.
type outcome struct {
	how   string
	texts []string
}

func (o outcome) String() string { return strings.Join(append([]string{o.how}, o.texts...), " ") }

// expect computes how a cell must end. It goes through the parts until the member does not see an asset
// that a part names, or lacks a right for a part.
func (c *cell) expect(t *table) outcome {
	for _, p := range c.parts {
		switch all := p.unseen(c.who); {
		case len(all) > 0 && c.noMatch && all[0] == p.uses[0].text:
			return outcome{how: nothing}
		case len(all) > 0 && all[0] == notFound:
			return outcome{how: notFound}
		case len(all) > 0:
			return outcome{unseen, all}
		}
		if is, all := p.refused(t, c.who); is {
			return outcome{denied, all}
		}
	}
	return outcome{how: done}
}

// unseen returns the messages about the assets of the part that the member does not see.
func (p part) unseen(w *member) []string {
	var all []string
	for _, u := range p.uses {
		if !w.sees(u.slot.thing) {
			all = append(all, u.text)
		}
	}
	return all
}

// refused reports whether the member lacks a right for the part. It also returns the messages that are
// possible then.
func (p part) refused(t *table, w *member) (is bool, all []string) {
	for _, n := range p.needs {
		if !t.may(w, n.thing, n.verb, n.name) {
			is, all = true, append(all, n.texts()...)
		}
	}
	if p.raises {
		is, all = true, append(all, "Denied'Scope.Parent")
	}
	return is, all
}

// makes returns the types of the assets that a cell must create: one entry for each asset.
func (c *cell) makes(t *table) []string {
	var all []string
	for _, p := range c.parts {
		if is, _ := p.refused(t, c.who); is || len(p.unseen(c.who)) > 0 {
			if c.whole {
				all = nil
			}
			break
		}
		all = append(all, p.makes...)
	}
	return all
}

// differs reports whether a cell has ended in a wrong way.
func (c *cell) differs() bool {
	if c.want.how != c.got.how {
		return true
	}
	return len(c.want.texts) > 0 && !slices.Contains(c.want.texts, c.got.texts[0])
}

func (c *cell) String() string {
	name := c.typ
	if c.name != "" {
		name += "." + c.name
	}
	return fmt.Sprintf("%s: %s %s, %s: want %s, got %s", c.who, c.verb, name, c.path, c.want, c.got)
}

// fill returns a value in which all placeholders are replaced.
func (w *world) fill(c *cell, v any) any {
	switch x := v.(type) {
	case string:
		return w.fillText(c, x)
	case []any:
		all := make([]any, len(x))
		for i := range x {
			all[i] = w.fill(c, x[i])
		}
		return all
	case attrs:
		all := make(attrs, len(x))
		for k, v := range x {
			all[fmt.Sprint(w.fillText(c, k))] = w.fill(c, v)
		}
		return all
	}
	return v
}

func (w *world) fillText(c *cell, text string) any {
	name, ok := strings.CutPrefix(text, "$")
	if !ok {
		return text
	}
	switch name {
	case "me":
		return c.who.oid
	case "name":
		return "n" + strconv.FormatInt(w.names.Add(1), 10)
	case "n":
		return w.names.Add(1)
	case "moment":
		at, err := strconv.ParseInt(c.slots[0].moment, 10, 64)
		if err != nil {
			w.t.Fatal(err)
		}
		return at
	case "tag":
		return c.slots[0].attrs["TaggedWith"].([]any)[0]
	}
	if i, err := strconv.Atoi(name); err == nil {
		return c.slots[i].oid
	}
	return w.base[name].oid
}
