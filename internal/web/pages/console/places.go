package console

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/web/ui"
)

// maxRead limits the memory in bytes for parsing a request again to find its commands. Errors
// in a larger request have no position.
const maxRead = 4 << 20

// place is the position of an error in the request. Line 0 means that it is unknown.
type place struct{ Line, Column, Position int }

// commandsOf returns the commands of a request as they were written, without aliases. The
// order is that of the command indexes in failures. It returns nil if the request is too large
// or invalid. Spec: interface 2.5.3.
func commandsOf(request string) []*document.Node {
	body := []byte(request)
	yaml, format := document.Sniff(body), document.JSON
	if yaml {
		format = document.YAML
	}
	if document.MemoryNeed(body, format) > maxRead {
		return nil
	}
	docs, err := document.Parse(body, yaml)
	if err != nil {
		return nil // the answer of the interface reports this error
	}
	var all []*document.Node
	for i := range docs {
		list := docs[i : i+1]
		if docs[i].Kind == document.List {
			list = docs[i].Items
		}
		for k := range list {
			all = append(all, withoutAlias(&list[k]))
		}
	}
	return all
}

// withoutAlias returns the command after an alias.
func withoutAlias(n *document.Node) *document.Node {
	for i, key := range n.Keys {
		if strings.HasPrefix(key, "@") && n.Items[i].Kind == document.Map {
			return &n.Items[i]
		}
	}
	return n
}

// placeOf returns the byte offset in the request to which a failure refers. That is the offset of
// the value of the attribute in the message, if the message has one. Otherwise it is the offset of
// the operation, the type or the asset in the command. projected is the failed command, which may
// be nested in command.
func placeOf(command *document.Node, projected jsonObject, message string) int {
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

// nested finds a create within the command n. It is the create that the interface reports as a
// separate command, which is projected. nested returns nil if there is no such create.
func nested(n *document.Node, projected jsonObject) *document.Node {
	same := func(key string) bool {
		value, _ := n.Get(key)
		text, _ := projected.get(key).(string)
		return value == nil && text == "" || value != nil && value.Text == text
	}
	if n.Kind == document.Map && projected.has("AssetType") && same("AssetType") && same("Name") {
		return n
	}
	for i := range n.Items {
		if found := nested(&n.Items[i], projected); found != nil {
			return found
		}
	}
	return nil
}

// sourcePlace converts a byte offset in a command that the page sent to the offset in the
// command as it was written.
func sourcePlace(source *document.Node, sent []byte, at int) int {
	docs, err := document.Parse(sent, false)
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
	if n.Kind == document.String && n.Written == nil && source.Written == nil {
		return source.At + min(max(at-n.At, 0), len(source.Text))
	}
	return source.At
}

// locate sets the line and column of places whose byte offset is known, and marks them in the
// request.
func (r *ran) locate(request string, found []*place) {
	slices.SortFunc(found, func(a, b *place) int { return a.Position - b.Position })
	at := make([]int, len(found))
	for i, p := range found {
		at[i] = p.Position
	}
	for i, p := range document.Positions([]byte(request), at) {
		found[i].Line, found[i].Column = p.Line, p.Column
	}
	r.places = append(r.places, at...)
	slices.Sort(r.places)
	r.Lines = excerpt(request, r.places)
}

// locateFailures finds positions for the failed commands that have no position.
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
