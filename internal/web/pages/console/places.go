package console

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/doc"
	"github.com/alds-dev/alds/internal/web/ui"
)

// maxRead is how many bytes reading a request once more, for the places of its commands,
// may need; those of a larger one have none.
const maxRead = 4 << 20

// place is where something is wrong in the request. Line 0: that is not known.
type place struct{ Line, Column, Position int }

// commandsOf are the commands of a request as they were written, without their aliases,
// in the order in which failures count them. Spec: interface 2.5.3.
func commandsOf(request string) []*doc.Node {
	body := []byte(request)
	yaml, format := doc.Sniff(body), doc.JSON
	if yaml {
		format = doc.YAML
	}
	if doc.MemoryNeed(body, format) > maxRead {
		return nil
	}
	docs, err := doc.Parse(body, yaml)
	if err != nil {
		return nil // who was asked says so
	}
	var all []*doc.Node
	for i := range docs {
		list := docs[i : i+1]
		if docs[i].Kind == doc.List {
			list = docs[i].Items
		}
		for k := range list {
			all = append(all, withoutAlias(&list[k]))
		}
	}
	return all
}

// withoutAlias is the command that an alias stands before.
func withoutAlias(n *doc.Node) *doc.Node {
	for i, key := range n.Keys {
		if strings.HasPrefix(key, "@") && n.Items[i].Kind == doc.Map {
			return &n.Items[i]
		}
	}
	return n
}

// placeOf is the byte of a command that a failure is about: the value of the attribute
// that its message names, the operation, or else what the command is for. projected is
// the command that failed, which may be nested in the other.
func placeOf(command *doc.Node, projected jsonObject, message string) int {
	if inner := nested(command, projected); inner != nil {
		command = inner
	}
	values := command
	if update, ok := command.Get("update"); ok {
		values = update
	}
	if m := ui.Coded.FindStringSubmatch(message); m != nil {
		if value, ok := values.Get(m[4]); ok {
			return value.At
		}
	}
	for _, key := range []string{"execute", "AssetType", "from", "oid"} {
		if value, ok := command.Get(key); ok {
			if op, named := value.Get("op"); named {
				value = op
			}
			return value.At
		}
	}
	return command.At
}

// nested finds the create within a command that became one of its own; nil: there is
// none.
func nested(n *doc.Node, projected jsonObject) *doc.Node {
	same := func(key string) bool {
		value, _ := n.Get(key)
		text, _ := projected.get(key).(string)
		return value == nil && text == "" || value != nil && value.Text == text
	}
	if n.Kind == doc.Map && projected.has("AssetType") && same("AssetType") && same("Name") {
		return n
	}
	for i := range n.Items {
		if found := nested(&n.Items[i], projected); found != nil {
			return found
		}
	}
	return nil
}

// sourcePlace is the byte of a command as it was written that a byte of the same command
// written by the page stands for.
func sourcePlace(source *doc.Node, sent []byte, at int) int {
	docs, err := doc.Parse(sent, false)
	if err != nil || len(docs) == 0 {
		return source.At
	}
	n := &docs[0]
	for {
		next := -1
		for i := range n.Items {
			if n.Items[i].At <= at {
				next = i
			}
		}
		if next < 0 || next >= len(source.Items) {
			break
		}
		n, source = &n.Items[next], &source.Items[next]
	}
	if n.Kind == doc.String && n.Written == nil && source.Written == nil {
		return source.At + min(max(at-n.At, 0), len(source.Text))
	}
	return source.At
}

// locate gives places, of which the bytes are known, their lines and columns, and marks
// them in the request.
func (r *ran) locate(request string, found []*place) {
	slices.SortFunc(found, func(a, b *place) int { return a.Position - b.Position })
	at := make([]int, len(found))
	for i, p := range found {
		at[i] = p.Position
	}
	for i, p := range doc.Positions([]byte(request), at) {
		found[i].Line, found[i].Column = p.Line, p.Column
	}
	r.places = append(r.places, at...)
	slices.Sort(r.places)
	r.Lines = excerpt(request, r.places)
}

// locateFailures finds the commands that failed without a place of their own.
func (r *ran) locateFailures(request string, failures []*commandFailure) {
	failures = slices.DeleteFunc(failures, func(f *commandFailure) bool { return f.Line > 0 })
	if len(failures) == 0 {
		return
	}
	commands := commandsOf(request)
	var found []*place
	for _, f := range failures {
		if f.index >= 0 && f.index < len(commands) {
			f.Position = placeOf(commands[f.index], f.projected, f.Message)
			found = append(found, &f.place)
		}
	}
	r.locate(request, found)
}
