package importer_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// form is a format of files that the random tests import.
type form struct {
	name, format, file, mapping string
	projects                    []string // projects of items; "": the project that everything goes into
	owners                      int      // maximum number of owners of an item
	comments, circles           bool     // items have comments; links may form circles
	strict                      bool     // an item with a link to a missing item is rejected
	plain                       bool     // descriptions are plain text and not HTML
	stranger                    string   // an author of comments who is not a member
	export                      func(w *world) []byte
}

var forms = []form{
	{name: "a table", format: "csv", file: "rows.csv", mapping: worldMapping, projects: []string{"", "Shop", "Shop/Web", "Shop/Till"}, owners: 3, comments: true, circles: true, plain: true, stranger: "zoe", export: exportTable},
	{name: "lines", format: "jsonl", file: "rows.jsonl", projects: []string{""}, owners: 3, strict: true, export: exportLines},
	{name: "issues", format: "jira", file: "rows.json", projects: []string{"Shop", "Desk; 2"}, owners: 1, comments: true, circles: true, plain: true, stranger: "Doe; Jane", export: exportIssues},
}

const worldMapping = `
key: key
type: {column: kind, values: {Bug: Defect}}
project: {column: project, separator: /}
attributes:
  Name: title
  Description: {column: text, text: true}
  Estimate: {column: points, for: [Story, Defect]}
  TaggedWith: {column: tag, all: true}
  Owners: {column: owners, split: /, unknown: leave out}
  Status: {column: state, values: {doing: In Progress, odd: null}, unknown: leave out, for: [Story, Defect]}
  Super: {column: up, key: true, unknown: leave out, for: [Epic, Story, Defect]}
  Parent: {column: up, key: true, for: [Task]}
  Dependencies: {column: needs, split: " ", key: true, later: true, unknown: leave out, for: [Epic, Story, Defect]}
comments: {column: said, all: true, date: ["2006-01-02T15:04:05"]}
`

// shuffled returns the keys of the file in a random order.
func (w *world) shuffled() []string {
	keys := slices.DeleteFunc(slices.Clone(w.order), func(key string) bool { return w.file[key] == nil })
	w.Shuffle(len(keys), func(i, k int) { keys[i], keys[k] = keys[k], keys[i] })
	return keys
}

// spaced returns a key, sometimes with spaces around it.
func (w *world) spaced(key string) string {
	if key == "" || w.IntN(4) > 0 {
		return key
	}
	return pick(w, " ", "") + key + pick(w, " ", "\t", "  ")
}

// column is a column of a table. of returns its value for an item.
type column struct {
	name string
	of   func(p *piece) string
}

// nth returns a column with the value at index n of an attribute with several values.
func nth(name string, n int, of func(p *piece) []string) column {
	return column{name, func(p *piece) string {
		if all := of(p); n < len(all) {
			return all[n]
		}
		return ""
	}}
}

// exportTable writes the file as a CSV. The order of the columns and the line endings are random.
// The file may be compressed or have a byte order mark.
func exportTable(w *world) []byte {
	columns := []column{
		{"key", func(p *piece) string { return w.spaced(p.Key) }},
		{"kind", func(p *piece) string { return pick(w, p.Kind, strings.Replace(p.Kind, "Defect", "Bug", 1)) }},
		{"title", func(p *piece) string { return p.Name }},
		{"text", func(p *piece) string { return p.Text }},
		{"points", func(p *piece) string { return p.Points }},
		{"project", func(p *piece) string { return strings.ReplaceAll(p.Project, "/", pick(w, "/", " / ")) }},
		{"state", func(p *piece) string {
			return map[string]string{"": pick(w, "", "odd", "Nowhere"), "In Progress": pick(w, "doing", "In Progress")}[p.State] + strings.TrimPrefix(p.State, "In Progress")
		}},
		{"up", func(p *piece) string { return w.spaced(p.Up) }},
		{"needs", func(p *piece) string { return strings.Join(p.Needs, " ") }},
		{"owners", func(p *piece) string {
			return strings.Join(append(slices.Clone(p.Owners), some(w, 1, "nobody")...), pick(w, "/", " / "))
		}},
		{"other", func(*piece) string { return pick(w, "", "what nobody asks for") }},
	}
	said := func(p *piece) (all []string) {
		for _, s := range p.Said {
			all = append(all, s.At+";"+s.By+";"+s.Text)
		}
		return all
	}
	tags := func(p *piece) []string { return p.Tags }
	most := 1
	for _, p := range w.file {
		most = max(most, len(p.Said))
	}
	for n := range most {
		columns = append(columns, nth("said", n, said))
	}
	for n := range 3 {
		columns = append(columns, nth("tag", n, tags))
	}
	return w.wrapped(w.table(columns))
}

// table writes a CSV.
func (w *world) table(columns []column) string {
	w.Shuffle(len(columns), func(i, k int) { columns[i], columns[k] = columns[k], columns[i] })
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	row := make([]string, len(columns))
	for i, col := range columns {
		row[i] = col.name
	}
	_ = c.Write(row) // cannot fail: b is in memory
	for _, key := range w.shuffled() {
		for i, col := range columns {
			row[i] = col.of(w.file[key])
		}
		_ = c.Write(row)
	}
	c.Flush()
	return strings.ReplaceAll(b.String(), "\n", pick(w, "\n", "\r\n", "\r"))
}

// wrapped returns the bytes of a file with a text. The text may be plain, compressed, or begin with
// a byte order mark.
func (w *world) wrapped(text string) []byte {
	switch w.IntN(4) {
	case 0:
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text)) // cannot fail: b is in memory
		_ = z.Close()
		return b.Bytes()
	case 1:
		return []byte("\xef\xbb\xbf" + text)
	}
	return []byte(text)
}

// exportLines writes the file as JSON lines. An empty attribute is null or missing. It is missing
// only if it is also empty in the service.
func exportLines(w *world) []byte {
	var b strings.Builder
	for _, key := range w.shuffled() {
		p := w.file[key]
		of := map[string]any{"AssetType": p.Kind, "Reference": w.spaced(p.Key), "Name": p.Name}
		now := w.want[key]
		if now == nil {
			now = &piece{}
		}
		w.put(of, "Description", p.Text, now.Text)
		w.put(of, "Owners", p.Owners, now.Owners)
		w.put(of, "TaggedWith", p.Tags, now.Tags)
		if p.Kind == "Story" || p.Kind == "Defect" {
			w.put(of, "Estimate", p.Points, now.Points)
			w.put(of, "Status", p.State, now.State)
		}
		if p.Kind == "Task" {
			w.put(of, "Parent", w.links(p.Up), w.links(now.Up))
		} else {
			w.put(of, "Super", w.links(p.Up), w.links(now.Up))
			w.put(of, "Dependencies", w.links(p.Needs...), w.links(now.Needs...))
		}
		line, _ := json.Marshal(of) // cannot fail: it has only texts and lists
		b.Write(line)
		b.WriteString("\n")
	}
	return w.wrapped(strings.ReplaceAll(b.String(), "\n", pick(w, "\n", "\r\n", "\r", "\n\n")))
}

// links returns links to keys in the form of JSON lines.
func (w *world) links(keys ...string) []any {
	var all []any
	for _, key := range keys {
		if key != "" {
			all = append(all, map[string]any{"Reference": w.spaced(key)})
		}
	}
	return all
}

// put sets a member of an object, in one of several equivalent forms. now is the value in the
// service.
func (w *world) put(object map[string]any, name string, v, now any) {
	empty := func(v any) bool { return len(fmt.Sprint(v)) == 0 || fmt.Sprint(v) == "[]" }
	list, _ := v.([]any)
	texts, _ := v.([]string)
	switch {
	case empty(v) && empty(now) && w.IntN(2) == 0:
	case empty(v):
		object[name] = nil
	case len(list) == 1 && (w.IntN(2) == 0 || name == "Super" || name == "Parent"):
		object[name] = list[0]
	case len(texts) == 1 && w.IntN(2) == 0:
		object[name] = texts[0]
	default:
		object[name] = v
	}
}

// exportIssues writes the file as JSON of Jira. The file has pages, or one issue in each line. A
// page has the names of fields before or after the issues, or does not have them.
func exportIssues(w *world) []byte {
	names := map[string]string{"customfield_71": "Epic Link", "customfield_72": "Story Points"}
	epic, points := "customfield_71", "customfield_72"
	shape := w.IntN(4)
	if shape > 1 {
		epic, points = "customfield_10014", "customfield_10016"
	}
	var all []string
	for _, key := range w.shuffled() {
		issue, _ := json.Marshal(w.issue(w.file[key], epic, points)) // cannot fail: it has only texts, numbers and lists
		all = append(all, string(issue))
	}
	if shape == 3 {
		return w.wrapped(strings.Join(all, "\n"))
	}
	said, _ := json.Marshal(names)
	var b strings.Builder
	for page := range slices.Chunk(all, 1+w.IntN(8)) {
		issues := `"issues": [` + strings.Join(page, ",\n") + `]`
		switch shape {
		case 0:
			b.WriteString(`{"names": ` + string(said) + ", " + issues + "}\n")
		case 1:
			b.WriteString(`{"total": 9, ` + issues + `, "names": ` + string(said) + "}\n")
		default:
			b.WriteString(`{"startAt": 0, ` + issues + "}\n")
		}
	}
	return w.wrapped(b.String())
}

var typesOfIssues = map[string][]string{
	"Epic": {"Epic"}, "Story": {"Story", "Improvement", "Chore", "Request", "Theme"}, "Defect": {"Bug", "Defect"}, "Task": {"Sub-task", "Technical task", "Epic"},
}

// issue returns an item as an issue of Jira. epic and points are the ids of these fields.
func (w *world) issue(p *piece, epic, points string) map[string]any {
	fields := map[string]any{
		"summary": p.Name, "issuetype": map[string]any{"name": pick(w, typesOfIssues[p.Kind]...), "subtask": p.Kind == "Task"},
		"labels": p.Tags, "description": w.document(p.Text), points: nil, epic: nil, "assignee": nil, "customfield_5": []string{"x"},
		"status": map[string]any{"name": pick(w, map[string][]string{"": {"Waiting", "Blocked"}, "Future": {"To Do", "Open"}, "In Progress": {"In Progress", "In Review"}, "Done": {"Done", "Resolved"}}[p.State]...)},
	}
	if p.Project != "" {
		fields["project"] = map[string]any{"key": "P", "name": p.Project}
	}
	if p.Points != "" {
		fields[points] = json.Number(p.Points)
	}
	if p.Kind == "Task" {
		fields["parent"] = map[string]any{"key": p.Up}
	} else if p.Up != "" {
		fields[epic] = w.spaced(p.Up)
	}
	if len(p.Owners) > 0 {
		fields["assignee"] = pick(w, map[string]any{"name": p.Owners[0], "displayName": "x"}, map[string]any{"accountId": "5b", "displayName": strings.ToUpper(p.Owners[0])})
	}
	links := []any{}
	for _, key := range p.Needs {
		links = append(links, map[string]any{"type": map[string]any{"name": "Blocks"}, "inwardIssue": map[string]any{"key": key}})
	}
	fields["issuelinks"] = append(links, map[string]any{"type": map[string]any{"name": "Relates"}, "outwardIssue": map[string]any{"key": "X-1"}})
	var said []any
	for _, s := range p.Said {
		author := map[string]any{"displayName": s.By}
		if slices.Contains(members, s.By) {
			author = map[string]any{"name": s.By, "displayName": "x; y"}
		}
		said = append(said, map[string]any{"author": author, "created": s.At + ".000+0000", "body": w.document(s.Text)})
	}
	fields["comment"] = map[string]any{"comments": said, "total": len(said)}
	return map[string]any{"id": strings.TrimPrefix(p.Key, w.prefix) + "000", "key": w.spaced(p.Key), "fields": fields}
}

// document returns a text in a form that a field of Jira may have: a plain text, or a document with
// paragraphs. The words of a paragraph are texts, mentions, emoji and cards.
func (w *world) document(text string) any {
	if text == "" {
		return nil
	}
	if w.IntN(2) == 0 {
		return text
	}
	var paragraphs []any
	for line := range strings.SplitSeq(text, "\n") {
		var nodes []any
		for part := range strings.SplitAfterSeq(line, " ") {
			nodes = append(nodes, pick(w,
				map[string]any{"type": "text", "text": part}, map[string]any{"type": "text", "text": part},
				map[string]any{"type": "mention", "attrs": map[string]any{"id": "1", "text": part}},
				map[string]any{"type": "emoji", "attrs": map[string]any{"shortName": part}},
				map[string]any{"type": "inlineCard", "attrs": map[string]any{"url": part}}))
		}
		paragraphs = append(paragraphs, map[string]any{"type": "paragraph", "content": nodes})
	}
	return map[string]any{"type": "doc", "version": 1, "content": paragraphs}
}
