package rightstest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// slot is an asset that the administrator creates for cells. If no cell may change it, all cells with the
// same key share it. Otherwise only one cell uses it.
type slot struct {
	thing
	key    string // cells whose slots have the same key share one asset
	attrs  attrs
	first  []string // operations that the administrator runs on it before the cells run
	set    attrs    // what "set" in first changes
	by     *member  // member that the service records as its creator
	oid    string
	moment string
}

// fixture returns a slot for an asset of a type. The asset is in a state in which the operation op may run.
// Its owner is own, or somebody else if own is nil.
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

// ownersOf returns the owners with which an asset of a type must be tested. If owners have special rights,
// these are the member m and somebody else (nil). Otherwise the result has only nil.
func (w *world) ownersOf(typ string, m *member) []*member {
	if w.rights.isOwn(typ) {
		return []*member{m, nil}
	}
	return []*member{nil}
}

// add adds a cell to the world. If the cell must not change an asset, the cell shares this asset with other
// cells.
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

// usesOf returns the assets that attribute values refer to. The parameter a has the values, and typ is the
// type of the asset that gets them.
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
