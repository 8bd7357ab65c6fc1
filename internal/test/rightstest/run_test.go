package rightstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// run runs the cells of a member. It compares how they end, and which assets they have changed.
func (w *world) run(m *member) {
	if m.place == places[0].name || m.at == nil { // for the other places, difftest compares these attributes
		w.compareTold(m)
	}
	inBulk, later, shown := []*cell{}, []*cell{}, []*cell{}
	for _, c := range w.cells[m] {
		switch {
		case c.url != "":
			w.runOne(c)
		case c.path == byAsync:
			later = append(later, c)
		case c.path == byPreview:
			shown = append(shown, c)
		default:
			inBulk = append(inBulk, c)
		}
	}
	w.runBulk(m, inBulk)
	w.runBulk(m, later, "Prefer", "respond-async")
	w.runPreview(m, shown)
	w.compare(m)
}

func (w *world) runBulk(m *member, cells []*cell, headers ...string) {
	for some := range slices.Chunk(cells, perRequest) {
		var commands []any
		for _, c := range some {
			commands = append(commands, w.fill(c, c.command))
		}
		failures := w.send(m.login, commands, headers...).failures()
		for i, c := range some {
			c.got = outcome{how: done}
			if text, ok := failures[i]; ok {
				c.got = outcome{said(text), []string{text}}
			} else if c.want.how == nothing {
				c.got.how = nothing
			}
		}
	}
}

// said returns how a command has ended, from the message of its failure.
func said(text string) string {
	switch {
	case strings.HasPrefix(text, "Denied'"):
		return denied
	case strings.HasPrefix(text, "Invalid OID token: ") || strings.HasPrefix(text, "Violation'Invalid'"):
		return unseen
	}
	return "failed"
}

func (w *world) runOne(c *cell) {
	url := c.url
	switch {
	case c.path == byHook && c.verb != create:
		var h struct{ ID string }
		if err := json.Unmarshal(w.ask("admin", http.MethodPost, "/api/webhook", hook).body, &h); err != nil || h.ID == "" {
			w.t.Fatalf("no subscription: %v", err)
		}
		url += h.ID
	case c.path == byOp:
		url += "/" + number(c.slots[0].oid) + "?op=" + c.name
	case c.path == byPost && c.verb != create:
		url += "/" + number(c.slots[0].oid)
	}
	a := w.ask(c.who.login, http.MethodPost, url, w.fill(c, c.body))
	switch a.status {
	case http.StatusOK:
		c.got.how = done
		if c.want.how == nothing {
			c.got.how = nothing
		}
	case http.StatusNotFound:
		c.got.how = notFound
	case http.StatusForbidden:
		c.got = outcome{denied, []string{a.text()}}
		if c.path == byHook || c.path == byTags {
			c.got.texts = c.want.texts // requests by these paths are answered with other messages
		}
	default:
		c.got = outcome{said(a.text()), []string{a.text()}}
	}
}

// number returns the number in an Oid.
func number(oid string) string {
	_, n, _ := strings.Cut(oid, ":")
	return n
}

// compare records the cells of a member that ended in a wrong way or changed the wrong assets.
func (w *world) compare(m *member) {
	var slots []*slot
	for _, c := range w.cells[m] {
		slots = append(slots, c.slots...)
	}
	slices.SortFunc(slots, func(a, b *slot) int { return strings.Compare(a.oid, b.oid) })
	slots = slices.DeleteFunc(slices.Compact(slots), func(s *slot) bool { return s.moment == "" })
	now := w.moments(slots)
	for _, c := range w.cells[m] {
		for i := range c.want.texts {
			c.want.texts[i] = w.fillWords(c, c.want.texts[i])
		}
		if c.differs() {
			w.note(c, "want "+c.want.how+", got "+c.got.how)
			continue
		}
		w.compareMoments(c, now)
	}
}

func (w *world) compareMoments(c *cell, now map[string]string) {
	moved := func(s *slot) bool { return now[s.oid] != s.moment }
	if c.verb == relate && c.want.how == done && c.path != byPreview { // either asset may have the change
		if c.changes && !slices.ContainsFunc(c.slots, moved) {
			w.note(c, "the asset has not changed")
		}
		return
	}
	for i, s := range c.slots {
		must := c.want.how == done && c.changes && i == len(c.slots)-1 && c.path != byPreview
		switch {
		case s.moment == "" || c.want.how == done && !must && c.path != byPreview:
		case must && !moved(s):
			w.note(c, "the asset has not changed")
		case !must && moved(s):
			w.note(c, "the asset has changed")
		}
	}
}

func (w *world) note(c *cell, what string) {
	key := c.path + " " + c.verb + " " + c.typ + ": " + what
	w.wrong.Lock()
	defer w.wrong.Unlock()
	w.wrong.cells[key] = append(w.wrong.cells[key], c)
}

// checkStanding checks that no shared asset has changed. No cell may change such an asset.
func (w *world) checkStanding() {
	now := w.moments(slices.Collect(maps.Values(w.standing)))
	for _, s := range w.standing {
		if s.moment != now[s.oid] {
			w.t.Errorf("%s (%s) has changed, which nobody may change", s.oid, s.key)
		}
	}
}

// fillWords returns the text with its placeholder replaced. A text has at most one placeholder.
func (w *world) fillWords(c *cell, text string) string {
	before, name, ok := strings.Cut(text, "$")
	if !ok {
		return text
	}
	return before + fmt.Sprint(w.fillText(c, "$"+name))
}

// checkMade compares how many assets each member has created with how many its cells must create.
func (w *world) checkMade() {
	by := map[string]*member{}
	for _, m := range w.members {
		by[m.oid] = m
	}
	has, must := map[string]int{}, map[string]int{}
	for _, typ := range types() {
		b := w.must(attrs{"from": typ, "filter": []any{always}, "select": []any{"CreatedBy"}})
		for _, row := range b.QueryResult.Results[0] {
			made, _ := row["CreatedBy"].(map[string]any)
			if m := by[fmt.Sprint(made["_oid"])]; m != nil {
				has[typ+" by "+m.String()]++
			}
		}
	}
	for _, s := range w.slots {
		if s.by != nil {
			must[s.typ+" by "+s.by.String()]++
		}
	}
	for _, m := range w.members {
		for _, c := range w.cells[m] {
			if c.path == byPreview {
				continue
			}
			for _, typ := range c.makes(w.rights) {
				must[typ+" by "+m.String()]++
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(must)) {
		if has[key] != must[key] {
			w.t.Errorf("%s: %d must have been made, %d were", key, must[key], has[key])
		}
		delete(has, key)
	}
	for key, n := range has {
		w.t.Errorf("%s: none must have been made, %s were", key, strconv.Itoa(n))
	}
}

// runPreview sends the commands of cells in previews. A preview fails only because of missing rights.
func (w *world) runPreview(m *member, cells []*cell) {
	for some := range slices.Chunk(cells, perRequest) {
		var commands []any
		for _, c := range some {
			commands = append(commands, w.fill(c, c.command))
			c.got = outcome{how: done}
			if c.want.how != denied {
				c.want = c.got
			}
		}
		a := w.ask(m.login, http.MethodPost, "/api/asset?previewOnly=true", commands)
		var items []struct {
			Error *struct {
				Message            string
				SourceCommandIndex int
			}
		}
		if err := json.Unmarshal(a.body, &items); err != nil || a.status != http.StatusOK {
			w.t.Fatalf("preview of %s: %d %.2000s", m, a.status, a.body)
		}
		for _, it := range items {
			if it.Error == nil {
				continue
			}
			if c := some[it.Error.SourceCommandIndex]; c.got.how != denied {
				c.got = outcome{denied, []string{it.Error.Message}}
			}
		}
	}
}
