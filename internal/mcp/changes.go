package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPatience is the longest time for which changes are awaited, in seconds. It is shorter than the
// time after which many clients give up.
const maxPatience = 30

// event is an event of the feed. Spec: interface 6.2.2.
type event struct {
	SequenceID int64
	EventType  string
	Timestamp  string
	RequestID  string
	Reason     string
	Instigator *struct {
		OID         string `json:"_oid"`
		Name        string
		Application string
		Tool        string
	}
	TargetAsset struct {
		OID string `json:"_oid"`
	}
	Changes []struct {
		Name, Act string
		Old, New  json.RawMessage
	}
	Snapshot []row
}

func runChanges(c *call, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	var a struct {
		Next, From, Filter string
		Attributes, Select texts
		Wait, Size         whole
		Structured         bool
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	size, err := checkSize(a.Size)
	if err != nil {
		return nil, err
	}
	if a.Wait < 0 || a.Wait > maxPatience {
		return nil, refusef("wait is a number of seconds from 0 to %d", maxPatience)
	}
	wait := ""
	if a.Wait > 0 {
		wait = strconv.Itoa(int(a.Wait))
	}
	var page struct {
		Events []json.RawMessage
		Next   string
		More   bool
	}
	_, err = c.get(link("api/changes", "after", a.Next, "from", a.From, "filter", a.Filter, "attributes", strings.Join(a.Attributes, ","),
		"select", strings.Join(a.Select, ","), "page", strconv.Itoa(size), "wait", wait), &page)
	if err != nil {
		return nil, err
	}
	l := &lines{}
	l.add(plural(len(page.Events), "change"))
	if len(page.Events) > 0 {
		l.add(marked)
	}
	shown, following := []json.RawMessage{}, page.Next
	used := 0
	for i, raw := range page.Events {
		var e event
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("read an event: %w", err)
		}
		if len(raw) > maxLine {
			raw = e.short(raw)
		}
		used += len(raw) + 1
		if !l.add(clipped(e.words(), maxLine)) || a.Structured && used > maxText-reserved {
			break
		}
		shown, following = append(shown, raw), page.Next
		if i < len(page.Events)-1 {
			following = strconv.FormatInt(e.SequenceID, 10)
		}
	}
	if a.Structured {
		return inJSON(map[string]any{"events": shown, "next": following, "more": page.More || len(shown) < len(page.Events)}), nil
	}
	l.end("next: ", following)
	return answered(l), nil
}

// short returns an event without its values and its snapshot.
func (e *event) short(raw json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return marshal(nil)
	}
	names := []string{}
	for _, c := range e.Changes {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	delete(members, "snapshot")
	members["changes"] = marshal([]string{})
	members["changed"] = marshal(names)
	members["cut"] = marshal(true)
	return marshal(members)
}

// words returns the event as one line.
func (e *event) words() string {
	what := "changed"
	if e.EventType == "AssetCreated" {
		what = "created"
	}
	by := "somebody"
	if e.Instigator != nil {
		by = (&actor{thing{ID: e.Instigator.OID, DisplayName: e.Instigator.Name}, e.Instigator.Application, e.Instigator.Tool}).words()
	}
	parts := []string{fmt.Sprintf("%s %s %s by %s|request %s", e.Timestamp, e.TargetAsset.OID, what, by, e.RequestID)}
	if e.Reason != "" {
		parts = append(parts, "applied "+e.Reason)
	}
	for _, one := range e.Changes {
		old, now := exact(one.Old), exact(one.New)
		switch one.Act {
		case "Added":
			parts = append(parts, one.Name+" + "+clipped(now, maxCell))
		case "Removed":
			parts = append(parts, one.Name+" - "+clipped(old, maxCell))
		default:
			parts = append(parts, changed(one.Name, old, now))
		}
	}
	for _, r := range e.Snapshot {
		for _, name := range slices.Sorted(maps.Keys(r)) {
			if name != "_oid" {
				parts = append(parts, "now "+name+" = "+clipped(cell(r[name]), maxCell))
			}
		}
	}
	return strings.Join(parts, "|")
}
