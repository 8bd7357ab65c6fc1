package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type historyArguments struct {
	Asset, Request, From string
	Select               texts
	Where                map[string]any
	Filter               texts
	Since, Until         string
	Size                 whole
	Next                 string
	Structured           bool
}

func runHistory(c *call, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	var a historyArguments
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	size, err := checkSize(a.Size)
	if err != nil {
		return nil, err
	}
	given := 0
	for _, v := range []string{a.Asset, a.Request, a.From} {
		if v != "" {
			given++
		}
	}
	if given != 1 {
		return nil, refusef("history needs one of asset, request and from")
	}
	switch {
	case a.Asset != "":
		return c.activity(&a, size)
	case a.Request != "":
		return c.written(&a)
	}
	return c.difference(&a)
}

// thing is an asset in an item of an activity stream. Spec: interface 2.8.1.
type thing struct{ ID, AssetType, DisplayName, Number string }

// actor is the member who made a change, and by which means.
type actor struct {
	thing
	Application, Tool string
}

// words returns the name of the member, and the access token and tool of the change.
func (a *actor) words() string {
	text := a.ID + "|" + clipped(flat(a.DisplayName), maxCell)
	if a.Application != "" {
		text += "|with " + clipped(flat(a.Application), maxCell)
	}
	if a.Tool != "" {
		text += "|tool " + a.Tool
	}
	return text
}

// activity is an item of an activity stream.
type activity struct {
	Body struct {
		Actor    actor
		Verb     string
		Object   thing
		Time     string
		Provider struct {
			CommitSeq int64
			CommitID  string
		}
		Target []struct {
			Name, Verb         string
			NewValue, OldValue json.RawMessage
		}
	}
}

// maxTargets is how many attributes of a new asset are listed.
const maxTargets = 6

// activity lists what happened to an asset and its parts.
func (c *call) activity(a *historyArguments, size int) (*sdk.CallToolResult, error) {
	oid, err := c.resolve(a.Asset)
	if err != nil {
		return nil, err
	}
	direction, anchor, until := "Back", a.Until, ""
	if a.Since != "" {
		direction, anchor, until = "Forward", a.Since, a.Until
	}
	var end time.Time
	if until != "" {
		if end, err = instant(until); err != nil {
			return nil, err
		}
	}
	var items []activity
	header, err := c.get(link("api/ActivityStream/"+url.PathEscape(oid), "anchorDate", anchor, "direction", direction, "maxCount", strconv.Itoa(size), "after", a.Next, "deleted", "true"), &items)
	if err != nil {
		return nil, err
	}
	var result struct{ Next json.Number }
	_ = json.Unmarshal([]byte(header.Get("Alds-Result")), &result) // without the header, the stream has ended
	var late bool
	if !end.IsZero() {
		kept := slices.DeleteFunc(slices.Clone(items), func(i activity) bool {
			at, err := time.Parse(time.RFC3339Nano, i.Body.Time)
			return err == nil && at.After(end)
		})
		late = len(kept) < len(items)
		items = kept
	}
	following := result.Next.String()
	if late {
		following = ""
	}
	l := &lines{}
	l.add(plural(len(items), "change"), " of ", oid)
	if len(items) > 0 {
		l.add(marked)
	}
	write := ""
	for i, item := range items {
		b := &item.Body
		head := ""
		if b.Provider.CommitID != write {
			head = fmt.Sprintf("%s|%s|request %s\n", b.Time, b.Actor.words(), b.Provider.CommitID)
		}
		if !l.add(head, "  ", clipped(item.words(), maxLine)) {
			following = strconv.FormatInt(before(items, i), 10)
			break
		}
		write = b.Provider.CommitID
	}
	if following != "" {
		l.end("next: ", following)
	}
	if a.Structured {
		return inJSON(map[string]any{"items": items, "next": following}), nil
	}
	return answered(l), nil
}

// before returns the position after which a stream continues with an item, which is not the first. Two items of one
// change have the same position, so the first of them may come again, but none is left out.
func before(items []activity, i int) int64 {
	for n := i - 1; n >= 0; n-- {
		if seq := items[n].Body.Provider.CommitSeq; seq != items[i].Body.Provider.CommitSeq {
			return seq
		}
	}
	return items[i-1].Body.Provider.CommitSeq
}

// words returns what happened as one line.
func (i *activity) words() string {
	b := &i.Body
	parts := []string{b.Verb + " " + b.Object.ID}
	if b.Object.Number != "" {
		parts[0] += " " + b.Object.Number
	}
	parts[0] += " " + clipped(flat(b.Object.DisplayName), maxCell)
	isNew := b.Verb == "Created" || b.Verb == "Added"
	for n, t := range b.Target {
		if isNew && n == maxTargets {
			parts = append(parts, fmt.Sprintf("and %d more", len(b.Target)-n))
			break
		}
		was, is := shownValue(t.OldValue), shownValue(t.NewValue)
		switch t.Verb {
		case "Added":
			parts = append(parts, t.Name+" + "+clipped(is, maxCell))
		case "Removed":
			parts = append(parts, t.Name+" - "+clipped(was+is, maxCell))
		default:
			parts = append(parts, changed(t.Name, was, is))
		}
	}
	return strings.Join(parts, "|")
}

// shownValue returns a value of an activity: a text, or the name of an asset.
func shownValue(raw json.RawMessage) string {
	var t thing
	if len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &t) == nil {
		return flat(t.DisplayName) + " (" + t.ID + ")"
	}
	return exact(raw)
}

// instant reads a date of an argument. A date without a zone is UTC. Errors: *refusal.
func instant(text string) (time.Time, error) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, refusef("%.40q is not an instant such as 2026-02-28T15:04:05Z", text)
}

// written lists what a write has changed, by the preview of its undo.
func (c *call) written(a *historyArguments) (*sdk.CallToolResult, error) {
	got, err := c.do("POST", "api/undo?previewOnly=true", marshal(asked{"requestId": a.Request, "conflicts": "skip"}))
	if err != nil {
		return nil, err
	}
	var undo undone
	if err := got.decode(&undo); err != nil {
		return nil, err
	}
	if a.Structured {
		return inJSON(json.RawMessage(got.body)), nil
	}
	l := &lines{}
	l.add(fmt.Sprintf("An undo of request %s would take back changes of %s, as follows (now → then).", a.Request, plural(undo.AssetsModified.Count, "asset")))
	l.add(marked)
	undo.print(l)
	return answered(l), nil
}

// maxCompared is how many rows of a query are compared.
const maxCompared = 1000

// difference compares what a query finds at two instants.
func (c *call) difference(a *historyArguments) (*sdk.CallToolResult, error) {
	if a.Since == "" {
		return nil, refusef("history of a query needs since")
	}
	var err error
	if a.From, err = c.resolve(a.From); err != nil {
		return nil, err
	}
	columns := a.Select
	if len(columns) == 0 {
		columns = texts{"Name"}
	}
	at := func(moment string) asked {
		q := asked{"from": a.From, "select": columns, "page": asked{"size": maxCompared, "start": 0}, "total": true}
		if len(a.Where) > 0 {
			q["where"] = a.Where
		}
		if len(a.Filter) > 0 {
			q["filter"] = a.Filter
		}
		if moment != "" {
			q["asof"] = moment
		}
		return q
	}
	found, pages, err := c.find(at(a.Since), at(a.Until))
	if err != nil {
		return nil, err
	}
	for i := range pages {
		if pages[i].Total != nil && *pages[i].Total > maxCompared {
			return nil, refusef("The query finds %d rows. history compares at most %d: add a filter", *pages[i].Total, maxCompared)
		}
	}
	then, now := byOID(found[0]), byOID(found[1])
	d := compared{columns: columns}
	for _, r := range found[0] {
		if other, ok := now[withoutMoment(r.oid())]; !ok {
			d.gone = append(d.gone, r)
		} else if d.differs(r, other) {
			d.changed = append(d.changed, [2]row{r, other})
		}
	}
	for _, r := range found[1] {
		if _, ok := then[withoutMoment(r.oid())]; !ok {
			d.added = append(d.added, r)
		}
	}
	elsewhere, err := c.elsewhere(a, columns, d.gone)
	if err != nil {
		return nil, err
	}
	if a.Structured {
		return inJSON(map[string]any{"gone": d.gone, "goneNow": elsewhere, "added": d.added, "changed": d.changed}), nil
	}
	l := &lines{}
	until := a.Until
	if until == "" {
		until = "now"
	}
	l.add(fmt.Sprintf("%s at %s, %s at %s: %d gone, %d added, %d changed", plural(len(found[0]), "row"), a.Since, plural(len(found[1]), "row"), until, len(d.gone), len(d.added), len(d.changed)))
	if len(d.gone)+len(d.added)+len(d.changed) > 0 {
		l.add(marked)
		d.print(l, byOID(elsewhere))
	}
	if l.full {
		l.end("The answer is cut. Add a filter, or select less.")
	}
	return answered(l), nil
}

// elsewhere returns what the rows that a query does not find any more are at the later instant.
func (c *call) elsewhere(a *historyArguments, columns []string, gone []row) ([]row, error) {
	if len(gone) == 0 {
		return nil, nil
	}
	oids := make([]string, len(gone))
	for i, r := range gone {
		oids[i] = withoutMoment(r.oid())
	}
	name, _, _ := strings.Cut(a.From, "[")
	name, _, _ = strings.Cut(name, ":")
	q := asked{"from": name, "select": columns, "filter": []string{"ID=$Gone"}, "with": asked{"$Gone": oids}}
	if a.Until != "" {
		q["asof"] = a.Until
	}
	found, _, err := c.find(q)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func withoutMoment(oid string) string {
	if parts := strings.Split(oid, ":"); len(parts) > 2 {
		return parts[0] + ":" + parts[1]
	}
	return oid
}

func byOID(rows []row) map[string]row {
	all := make(map[string]row, len(rows))
	for _, r := range rows {
		all[withoutMoment(r.oid())] = r
	}
	return all
}

// compared is the difference of two results of a query.
type compared struct {
	columns     []string
	gone, added []row
	changed     [][2]row
}

func (d *compared) differs(a, b row) bool {
	return slices.ContainsFunc(d.columns, func(c string) bool { return !bytes.Equal(a[c], b[c]) })
}

// print appends the difference. now has the gone rows as they are at the later instant.
func (d *compared) print(l *lines, now map[string]row) {
	if len(d.gone) > 0 {
		l.add("Gone:")
		for _, r := range d.gone {
			oid := withoutMoment(r.oid())
			is, found := now[oid]
			if !found {
				l.add("- ", oid, "|", d.values(r), "|now deleted, or not visible")
				continue
			}
			l.add("- ", oid, "|", d.change(r, is))
		}
	}
	if len(d.added) > 0 {
		l.add("Added:")
		for _, r := range d.added {
			l.add("+ ", withoutMoment(r.oid()), "|", d.values(r))
		}
	}
	if len(d.changed) > 0 {
		l.add("Changed:")
		for _, pair := range d.changed {
			l.add("~ ", withoutMoment(pair[0].oid()), "|", d.change(pair[0], pair[1]))
		}
	}
}

func (d *compared) values(r row) string {
	parts := make([]string, len(d.columns))
	for i, c := range d.columns {
		parts[i] = c + " = " + clipped(r.text(c), maxCell)
	}
	return strings.Join(parts, "|")
}

// change returns the values of a row, with the former and the later value where they differ.
func (d *compared) change(was, is row) string {
	parts := make([]string, len(d.columns))
	for i, c := range d.columns {
		if parts[i] = c + " = " + clipped(exact(is[c]), maxCell); !bytes.Equal(was[c], is[c]) {
			parts[i] = changed(c, cmp.Or(exact(was[c]), "nothing"), exact(is[c]))
		}
	}
	return strings.Join(parts, "|")
}
