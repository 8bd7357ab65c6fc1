package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset"
)

// effect is what a request changes.
type effect struct {
	lines [][]byte // one JSON object for each change, in order, as the caller may see it
	all   [][]byte // the whole changes, as they are stored: hiddenMark before those that the caller may not see, asset.Caller for the caller
	size  size
	kept  [][]byte // what no undo takes back, as in the answer of an undo
}

// size is an effect in numbers.
type size struct {
	Assets     int            `json:"assets"`  // number of assets that are created or changed, without hidden ones
	Created    map[string]int `json:"created"` // by type
	Changed    map[string]int `json:"changed"`
	Deleted    map[string]int `json:"deleted"`
	Restored   map[string]int `json:"restored"`
	Attributes map[string]int `json:"attributes"` // by attribute, such as Story.Name
	Hidden     int            `json:"hidden"`     // changes that the caller may not see
	Refused    int            `json:"refused"`    // commands
}

// copies is how many copies of the lines of an effect a plan has in memory at once.
const copies = 4

// newEffect returns an effect as lines. It adds their memory to the reservation of ctx.
// Errors: fault.Invalid if they have more than limit bytes; those of memory.Hold.
func newEffect(ctx context.Context, all []asset.Effect, limit int) (f effect, err error) {
	f.size = size{Created: map[string]int{}, Changed: map[string]int{}, Deleted: map[string]int{}, Restored: map[string]int{}, Attributes: map[string]int{}}
	bytes, hold := 0, memory.From(ctx)
	for part := range byAsset(all) {
		verb := f.size.Changed
		shown := false
		for i := range part {
			visible, whole, some := part[i].Shown()
			e := &visible
			var line []byte
			if !whole {
				f.size.Hidden++
				line = append(line, hiddenMark)
			}
			stored := part[i].Impersonal()
			line = appendEffect(line, &stored)
			if bytes += len(line); bytes > limit {
				return f, fault.Invalidf(fault.NoPlace, "The effect would be larger than %d bytes.", limit)
			}
			if err := hold.Take(copies * int64(len(line))); err != nil {
				return f, err
			}
			if f.all = append(f.all, line); !some {
				continue
			}
			if !whole || e.ByCaller != "" {
				line = appendEffect(nil, e)
			}
			f.lines, shown = append(f.lines, line), true
			switch {
			case e.Kind == asset.Creates:
				verb = f.size.Created
			case e.Attr == nil:
			case part[0].Kind == asset.Creates:
				f.size.Attributes[e.Type.Name+"."+e.Attr.Name]++
			case e.Attr.Name == "AssetState" && isDeleted(e.New):
				verb = f.size.Deleted
			case e.Attr.Name == "AssetState" && isDeleted(e.Old):
				verb = f.size.Restored
			default:
				f.size.Attributes[e.Type.Name+"."+e.Attr.Name]++
			}
		}
		f.keep(part)
		if shown {
			f.size.Assets++
			verb[part[0].Type.Name]++
		}
	}
	return f, nil
}

// isDeleted reports whether a value of AssetState is that of a deleted asset.
func isDeleted(v any) bool { return v == int64(meta.StateDeleted) || v == raw(`"Deleted"`) }

// byAsset returns the effects on each asset.
func byAsset(all []asset.Effect) func(yield func([]asset.Effect) bool) {
	return func(yield func([]asset.Effect) bool) {
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].Asset == all[0].Asset {
				n++
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// keep notes what of an asset no undo takes back.
func (f *effect) keep(part []asset.Effect) {
	what := map[string]bool{}
	for i := range part {
		switch e := &part[i]; {
		case e.Hidden:
		case e.Type.Metadata:
			what["definitions"] = true
		case e.Kind == asset.Roles:
			what[asset.KeptRoles] = true
		}
	}
	for _, w := range slices.Sorted(maps.Keys(what)) {
		b := value.AppendString([]byte(`{"asset":`), part[0].Asset)
		f.kept = append(f.kept, append(value.AppendString(append(b, `,"what":`...), w), '}'))
	}
}

// hiddenMark begins the stored form of a change that the caller may not see.
const hiddenMark = '-'

// stored returns the effect in the form that is stored with a plan: a line for each change.
func (f *effect) stored() []byte {
	b := bytes.Join(f.all, []byte{'\n'})
	if f.size.Refused > 0 {
		b = fmt.Appendf(b, "\n{\"refused\":%d}", f.size.Refused)
	}
	return b
}

// append appends the members of the answer that describe the effect.
func (f *effect) append(b []byte) []byte {
	b = memory.Append(append(b, `,"effect":[`...), bytes.Join(f.lines, []byte{','}))
	b = append(append(b, `],"notUndone":[`...), bytes.Join(f.kept, []byte{','})...)
	text, _ := json.Marshal(f.size) //nolint:errchkjson // numbers
	b = append(append(b, `],"size":`...), text...)
	return value.AppendString(append(b, `,"summary":`...), f.size.words())
}

// words returns the size in words, such as "2 created (2 Story), 1 changed (1 Defect)".
func (s *size) words() string {
	var all []string
	for _, part := range []struct {
		verb string
		by   map[string]int
	}{{"created", s.Created}, {"changed", s.Changed}, {"deleted", s.Deleted}, {"restored", s.Restored}} {
		if len(part.by) == 0 {
			continue
		}
		n, types := 0, []string(nil)
		for _, name := range slices.Sorted(maps.Keys(part.by)) {
			n += part.by[name]
			types = append(types, strconv.Itoa(part.by[name])+" "+name)
		}
		all = append(all, fmt.Sprintf("%d %s (%s)", n, part.verb, strings.Join(types, ", ")))
	}
	if s.Hidden > 0 {
		all = append(all, fmt.Sprintf("%d hidden changes", s.Hidden))
	}
	if s.Refused > 0 {
		all = append(all, fmt.Sprintf("%d refused", s.Refused))
	}
	if len(all) == 0 {
		return "nothing changes"
	}
	return strings.Join(all, ", ")
}

// appendEffect appends one change as a JSON object.
//
//	{"asset":"Story:1005","attribute":"Name","old":"a","new":"b"}
//	{"asset":"Story:1005","attribute":"Owners","added":["Member:20"],"removed":[]}
//	{"asset":"Story:1005","attribute":"Order","next":"Story:1007"}
//	{"asset":"Story:+1","created":true}
//	{"asset":"Scope:1005","attribute":"Roles","added":["Member:20 Role:4"],"removed":["Member:20 Role:8"]}
func appendEffect(b []byte, e *asset.Effect) []byte {
	b = value.AppendString(append(b, `{"asset":`...), e.Asset)
	switch e.Kind {
	case asset.Creates:
		return append(b, `,"created":true}`...)
	case asset.Roles:
		b = value.AppendString(append(b, `,"attribute":`...), roles)
		return appendLists(b, e)
	}
	b = value.AppendString(append(b, `,"attribute":`...), e.Attr.Name)
	switch {
	case e.Kind == asset.Moves:
		b = asset.AppendValue(append(b, `,"next":`...), e.Attr, e.New)
	case e.Attr.Multi:
		return appendLists(b, e)
	default:
		b = appendValue(append(b, `,"old":`...), e.Attr, e.Old)
		b = appendValue(append(b, `,"new":`...), e.Attr, e.New)
	}
	return append(b, '}')
}

func appendValue(b []byte, a *meta.Attr, v any) []byte {
	if text, ok := v.(raw); ok {
		return append(b, text...)
	}
	return asset.AppendValue(b, a, v)
}

func appendLists(b []byte, e *asset.Effect) []byte {
	b = value.AppendStrings(append(b, `,"added":`...), e.Added)
	return append(value.AppendStrings(append(b, `,"removed":`...), e.Removed), '}')
}
