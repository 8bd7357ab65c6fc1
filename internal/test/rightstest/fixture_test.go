package rightstest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// slot is an asset of the administrator that cells are about. What no cell may
// change is one for all cells; what a cell may change is its own.
type slot struct {
	thing
	key    string // what else it is: cells with equal keys share one
	attrs  attrs
	first  []string // operations of the administrator on it
	by     *member  // who is said to have made it
	oid    string
	moment string
}

// fixture is an asset of a type, somebody's own or not, in the state in which an
// operation may run.
func (w *world) fixture(typ string, own *member, op string) *slot {
	s := &slot{thing: w.rights.thingOf(typ, own), key: typ, attrs: made(typ), by: own}
	switch typ {
	case "Scope":
		s.attrs["Parent"], s.in = "$inner", []*project{inner}
	case "Schedule":
		s.attrs["ScheduledScopes"], s.in = []any{attrs{"AssetType": "Scope", "Name": "$name", "Parent": "$inner", "BeginDate": "2026-01-01"}}, []*project{inner}
	case "Message":
		s.attrs["Recipients"] = []any{"Member:20"}
	case "Member":
		s.first = append(s.first, "join")
	}
	if a := owners[typ]; a != "" {
		s.attrs[a] = "Member:20"
		if own != nil {
			s.attrs[a] = own.oid
		}
	}
	if own != nil {
		s.key += " of " + own.String()
	}
	if typ == "Timebox" && timeboxIn[op] != "" {
		s.attrs["State"] = timeboxIn[op]
		s.key += " to " + op
	} else if first := before[op]; first != "" {
		s.first = append(s.first, first)
		s.key += " after " + first
	}
	return s
}

// ownersOf are whose an asset of a type may be: the member's and somebody else's,
// where it matters.
func (w *world) ownersOf(typ string, m *member) []*member {
	if w.rights.isOwn(typ) {
		return []*member{m, nil}
	}
	return []*member{nil}
}

// add finishes a cell: which assets it is about.
func (w *world) add(c *cell) {
	for i, s := range c.slots {
		if s.oid != "" {
			continue
		}
		if c.path == byPreview {
			s.key += fmt.Sprint(" previewed ", c.verb, c.name, c.typ, i)
		}
		if c.want.how != done || c.path == byPreview {
			if w.standing[s.key] == nil {
				w.standing[s.key] = s
				w.slots = append(w.slots, s)
			}
			c.slots[i] = w.standing[s.key]
			continue
		}
		s.key = ""
		w.slots = append(w.slots, s)
	}
	w.cells[c.who] = append(w.cells[c.who], c)
}

// usesOf are the assets that the attributes of a type name.
func (w *world) usesOf(c *cell, typ string, a attrs) []use {
	var all []use
	for _, name := range slices.Sorted(maps.Keys(a)) {
		list, ok := a[name].([]any)
		if !ok {
			list = []any{a[name]}
		}
		for _, v := range list {
			text, ok := v.(string)
			if s := w.slotNamed(c, text); ok && s != nil {
				all = append(all, use{s, "Violation'Invalid'" + typ + "." + name})
			}
		}
	}
	return all
}

func (w *world) slotNamed(c *cell, text string) *slot {
	name, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil
	}
	if len(name) == 1 && name != "n" {
		return c.slots[name[0]-'0']
	}
	return w.base[name]
}
