package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// planned is a plan of the interface. Spec: interface 4.18.
type planned struct {
	Plan    *string
	Applied bool
	Expires *string
	Effect  []effect
	Refused []struct {
		Error struct{ Message string }
	}
	NotUndone []struct{ Asset, What string }
	Size      struct {
		Assets, Hidden, Refused int
		Deleted                 map[string]int
	}
	Summary string
	Undo    *undone
}

// effect is one change of a plan or of an undo.
type effect struct {
	Asset, Attribute string
	Created          bool
	Old, New, Next   json.RawMessage
	Added, Removed   []string
}

// undone is an answer of an undo. Spec: interface 4.17.
type undone struct {
	Undone         bool
	AssetsModified struct{ Count int }
	Conflicts      struct {
		List          []struct{ Asset, Attribute, ChangedBy, ChangeDate string }
		Count, Hidden int
	}
	Failures struct {
		List []struct {
			Asset string
			Error struct{ Message string }
		}
		Count int
	}
	NotUndone []struct{ Asset, What string }
	Changes   []effect
}

// print appends the conflicts and the changes of an undo.
func (u *undone) print(l *lines) {
	for i, k := range u.Conflicts.List {
		if i == maxRefused {
			break
		}
		what := k.Asset
		if k.Attribute != "" {
			what += " " + k.Attribute
		}
		by := ""
		if k.ChangedBy != "" {
			by = " by " + k.ChangedBy
		}
		l.add("conflict: ", what, ", changed since", by, " ", k.ChangeDate)
	}
	if more := u.Conflicts.Count - u.Conflicts.Hidden - maxRefused; more > 0 {
		l.add(plural(more, "more conflict"))
	}
	if u.Conflicts.Hidden > 0 {
		l.add(plural(u.Conflicts.Hidden, "conflict"), " that you may not see")
	}
	for i, f := range u.Failures.List {
		if i == maxRefused {
			l.add(plural(u.Failures.Count-i, "more refusal"))
			break
		}
		l.add("refused: ", f.Asset, ": ", clipped(oneLine(f.Error.Message), maxCell))
	}
	for i, n := range u.NotUndone {
		if i == maxRefused {
			l.add(plural(len(u.NotUndone)-i, "more thing"), " not taken back")
			break
		}
		l.add("not taken back: ", n.What, " of ", n.Asset)
	}
	if shown := addEffect(l, u.Changes); shown < len(u.Changes) {
		l.end(plural(len(u.Changes)-shown, "more change"), ". Plan the undo to see all.")
	}
}

func runPlan(c *call, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	var a struct {
		Commands, Undo      document
		Comment, Plan, Next string
		Structured          bool
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	var got answer
	var err error
	switch {
	case a.Plan != "" && a.Commands == nil && a.Undo == nil:
		got, err = c.do(http.MethodGet, "api/plans/"+url.PathEscape(a.Plan), nil)
	case a.Commands != nil && a.Undo == nil && a.Plan == "":
		got, err = c.do(http.MethodPost, link("api/asset", "previewOnly", "true", "plan", "true", "comment", a.Comment), a.Commands)
	case a.Undo != nil && a.Commands == nil && a.Plan == "":
		got, err = c.do(http.MethodPost, link("api/undo", "previewOnly", "true", "plan", "true", "comment", a.Comment), a.Undo)
	default:
		return nil, refusef("plan needs one of commands, undo and plan")
	}
	if err != nil {
		return nil, err
	}
	var p planned
	if err := got.decode(&p); err != nil {
		return nil, err
	}
	first := 0
	if a.Next != "" {
		if first, err = strconv.Atoi(a.Next); err != nil || first < 0 || first > len(p.Effect) {
			return nil, refusef("%.40q is no next of this plan", a.Next)
		}
	}
	if a.Structured {
		return p.structured(first)
	}
	l := &lines{}
	if first == 0 {
		p.heading(l)
	}
	if first < len(p.Effect) {
		l.add(marked)
	}
	if end := first + addEffect(l, p.Effect[first:]); end < len(p.Effect) {
		l.end(fmt.Sprintf("%d more changes: call plan with plan %s and next %d", len(p.Effect)-end, deref(p.Plan), end))
	}
	return answered(l), nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// heading says what the plan changes as a whole, and how it is applied.
func (p *planned) heading(l *lines) {
	switch {
	case p.Plan == nil:
		l.add("There is no plan: nothing would change.")
	case p.Applied:
		l.add("Plan ", *p.Plan, " was applied.")
	default:
		l.add("Plan ", *p.Plan, ": ", p.Summary, ". Nothing has changed yet.")
		l.add(fmt.Sprintf("Apply it with plan and assets = %d, until %s.", p.Size.Assets, deref(p.Expires)))
	}
	for i, r := range p.Refused {
		if i == maxRefused {
			l.add(plural(len(p.Refused)-i, "more refused command"))
			break
		}
		l.add("refused: ", clipped(oneLine(r.Error.Message), maxCell))
	}
	for i, n := range p.NotUndone {
		if i == maxRefused {
			l.add(plural(len(p.NotUndone)-i, "more thing"), " that an undo would not take back")
			break
		}
		l.add("an undo would not take back: ", n.What, " of ", n.Asset)
	}
	if p.Undo != nil {
		u := *p.Undo
		u.Changes, u.NotUndone = nil, nil
		u.print(l)
	}
	if p.Size.Hidden > 0 {
		l.add(plural(p.Size.Hidden, "change"), " of assets that you may not see")
	}
}

// maxRefused is how many refused commands are listed.
const maxRefused = 20

// addEffect appends a line for each asset. It returns the number of changes that did fit.
func addEffect(l *lines, all []effect) (shown int) {
	for shown < len(all) {
		end := shown + 1
		for end < len(all) && all[end].Asset == all[shown].Asset {
			end++
		}
		if !l.add(assetLine(all[shown:end])) {
			break
		}
		shown = end
	}
	return shown
}

// structured returns the plan as JSON, with as many changes as fit.
func (p *planned) structured(first int) (*sdk.CallToolResult, error) {
	n, used := first, 0
	for ; n < len(p.Effect); n++ {
		if used += len(p.Effect[n].short()) + 1; used > maxText/2 {
			break
		}
	}
	shown := make([]json.RawMessage, 0, n-first)
	for i := first; i < n; i++ {
		shown = append(shown, p.Effect[i].short())
	}
	var following *string
	if n < len(p.Effect) {
		text := strconv.Itoa(n)
		following = &text
	}
	refused := []string{}
	for i, r := range p.Refused {
		if i < maxRefused {
			refused = append(refused, clipped(r.Error.Message, maxCell))
		}
	}
	conflicts, failures := 0, 0
	if p.Undo != nil {
		conflicts, failures = p.Undo.Conflicts.Count, p.Undo.Failures.Count
	}
	return inJSON(map[string]any{
		"plan": p.Plan, "applied": p.Applied, "conflicts": conflicts, "failures": failures, "expires": p.Expires, "summary": p.Summary, "assets": p.Size.Assets, "hidden": p.Size.Hidden,
		"refused": refused, "notUndone": p.NotUndone[:min(len(p.NotUndone), maxRefused)], "effect": shown, "next": following,
	}), nil
}

// short returns the change as the interface writes it. Long values are cut.
func (e *effect) short() json.RawMessage {
	if b := e.json(); len(b) <= maxLine {
		return b
	}
	s := *e
	old, now := clipped(exact(e.Old), maxCell), clipped(exact(e.New), maxCell)
	if len(e.Added)+len(e.Removed) > 0 {
		s.Added, s.Removed = few(e.Added), few(e.Removed)
	} else {
		s.Old, s.New = marshal(old), marshal(now)
	}
	return s.json()
}

// few returns the first of some values, cut.
func few(all []string) []string {
	const most = 5
	var some []string
	for i, v := range all {
		if i == most {
			return append(some, "… ("+plural(len(all)-most, "more value")+")")
		}
		some = append(some, clipped(v, maxCell))
	}
	return some
}

// json returns the change as the interface writes it.
func (e *effect) json() json.RawMessage {
	m := asked{"asset": e.Asset}
	if e.Attribute != "" {
		m["attribute"] = e.Attribute
	}
	switch {
	case e.Created:
		m["created"] = true
	case e.Next != nil:
		m["next"] = e.Next
	case e.Added != nil || e.Removed != nil:
		m["added"], m["removed"] = e.Added, e.Removed
	default:
		m["old"], m["new"] = e.Old, e.New
	}
	return marshal(m)
}

// assetLine returns the changes of one asset as a line.
func assetLine(all []effect) string {
	var parts []string
	made := false
	for i := range all {
		e := &all[i]
		switch {
		case e.Created:
			made = true
		case e.Next != nil:
			parts = append(parts, e.Attribute+": before "+cell(e.Next))
		case e.Added != nil || e.Removed != nil:
			for _, v := range e.Added {
				parts = append(parts, e.Attribute+" + "+clipped(flat(v), maxCell))
			}
			for _, v := range e.Removed {
				parts = append(parts, e.Attribute+" - "+clipped(flat(v), maxCell))
			}
		default:
			parts = append(parts, changed(e.Attribute, exact(e.Old), exact(e.New)))
		}
	}
	head := all[0].Asset + "|"
	if made {
		head = all[0].Asset + " is new|"
	}
	return clipped(strings.TrimSuffix(head+strings.Join(parts, "|"), "|"), maxLine)
}
