package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// issues is a source that reads the JSON of Jira's search. The file has pages with a member
// "issues", lists of issues, or single issues, one after another.
type issues struct {
	tape    *tape
	json    *json.Decoder
	place   place
	inPage  bool                       // the current list is the member "issues" of a page
	page    map[string]json.RawMessage // members of the current page or issue that have been read
	columns map[string]string          // names of custom fields by id, from the member "names" of pages

	held     *spool[heldIssue] // issues of a page whose member "names" may follow them
	releases bool              // the next records are those in held
	end      error             // the error after the records in held; nil: more records follow
}

// heldIssue is an issue that waits until its page is read. Raw is the issue as it is in the file.
type heldIssue struct {
	Raw  []byte
	Line int
}

// errPageRead means that a page with held issues was read to its end.
var errPageRead = errors.New("the page is read")

// place is the place of the next token.
type place int

const (
	between  place = iota // outside the objects and lists of the file
	inObject              // in a page or an issue
	inList                // in a list of issues
)

const betweenIssues = " \t\r\n,"

func newIssues(r io.Reader) *issues {
	s := &issues{tape: newTape(r), columns: map[string]string{}, held: &spool[heldIssue]{}}
	s.json = json.NewDecoder(s.tape)
	return s
}

func (s *issues) head() []byte   { return nil }
func (s *issues) suffix() string { return ".json" }

// next reads the next issue. Errors: io.EOF after the last issue; for invalid JSON, an error with
// the line.
func (s *issues) next() (record, error) {
	for {
		for !s.releases {
			rec, err := s.advance()
			if err == nil {
				return rec, nil
			}
			s.releases = true
			if !errors.Is(err, errPageRead) {
				s.end = s.located(err)
			}
		}
		h, err := s.held.next()
		if err == nil {
			return s.issue(h.Raw, h.Line), nil
		}
		if !errors.Is(err, io.EOF) {
			return record{}, err
		}
		if s.end != nil {
			return record{}, s.end
		}
		s.held, s.releases = &spool[heldIssue]{}, false
	}
}

// located adds the line to an error other than io.EOF.
func (s *issues) located(err error) error {
	if errors.Is(err, io.EOF) {
		return err
	}
	_, line := s.tape.cut(s.json.InputOffset(), betweenIssues)
	return fmt.Errorf("line %d: %w", line, err)
}

// advance reads until the next issue that need not be held.
// Errors: errPageRead after a page with held issues; io.EOF at the end of the file; invalid JSON.
func (s *issues) advance() (record, error) {
	for {
		switch s.place {
		case between:
			if err := s.enter(); err != nil {
				return record{}, err
			}
		case inList:
			if s.json.More() {
				raw, line, err := s.element()
				if err != nil {
					return record{}, err
				}
				if !s.inPage || len(s.columns) > 0 {
					return s.issue(raw, line), nil
				}
				if err := s.held.add(heldIssue{raw, line}); err != nil {
					return record{}, err
				}
				continue
			}
			if _, err := s.json.Token(); err != nil {
				return record{}, err
			}
			if s.place = between; s.inPage {
				s.place = inObject
			}
		case inObject:
			if s.json.More() {
				if err := s.member(); err != nil {
					return record{}, err
				}
				continue
			}
			if _, err := s.json.Token(); err != nil {
				return record{}, err
			}
			s.place = between
			if s.page["fields"] != nil {
				raw, line := s.tape.cut(s.json.InputOffset(), betweenIssues)
				return s.record(raw, line, s.page["id"], s.page["key"], s.page["fields"]), nil
			}
			if s.held.n > 0 {
				return record{}, errPageRead
			}
		}
	}
}

// enter reads the opening bracket of a list or object.
func (s *issues) enter() error {
	s.tape.cut(s.json.InputOffset(), betweenIssues)
	t, err := s.json.Token()
	switch {
	case err != nil:
		return err
	case t == json.Delim('['):
		s.place, s.inPage = inList, false
	case t == json.Delim('{'):
		s.place, s.page = inObject, map[string]json.RawMessage{}
	default:
		return fmt.Errorf("%v instead of an issue", t)
	}
	return nil
}

// member reads one member of a page or an issue. For the member "issues" it reads only the opening
// bracket.
func (s *issues) member() error {
	name, err := s.json.Token()
	if err != nil {
		return err
	}
	if name == "issues" {
		t, err := s.json.Token()
		if err == nil && t != json.Delim('[') {
			err = errors.New("the member issues is not a list")
		}
		s.place, s.inPage = inList, true
		return err
	}
	var v json.RawMessage
	if err := s.json.Decode(&v); err != nil {
		return err
	}
	if name == "names" {
		return json.Unmarshal(v, &s.columns)
	}
	s.page[fmt.Sprint(name)] = v
	return nil
}

// element reads an issue of a list, and the line on which it begins.
func (s *issues) element() (raw []byte, line int, err error) {
	s.tape.cut(s.json.InputOffset(), betweenIssues)
	var v json.RawMessage
	if err := s.json.Decode(&v); err != nil {
		return nil, 0, err
	}
	raw, line = s.tape.cut(s.json.InputOffset(), betweenIssues)
	return raw, line, nil
}

// issue returns the record of an issue in a list.
func (s *issues) issue(raw []byte, line int) record {
	var one struct{ ID, Key, Fields json.RawMessage }
	if err := json.Unmarshal(raw, &one); err != nil {
		return record{line: line, raw: raw, err: err}
	}
	return s.record(raw, line, one.ID, one.Key, one.Fields)
}

// record converts an issue into a record with the same columns as a CSV export of the issue.
func (s *issues) record(raw []byte, line int, id, key, fields json.RawMessage) record {
	rec := record{line: line, raw: raw, fields: map[string][]any{}, err: checkUTF8(raw)}
	if valuesIn(fields) > maxValues {
		rec.err = errTooManyValues
		return rec
	}
	var all map[string]any
	d := json.NewDecoder(bytes.NewReader(fields))
	d.UseNumber()
	if err := d.Decode(&all); err != nil || all == nil {
		rec.err = errors.Join(rec.err, errors.New("the issue has no fields"))
		return rec
	}
	rec.put("Issue id", textOf(id))
	rec.put("Issue key", textOf(key))
	for name, v := range all {
		s.flatten(rec, name, v)
	}
	return rec
}

// textOf returns a JSON string or number as text.
func textOf(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) != nil {
		text = string(v)
	}
	return text
}

// put adds a value to a column. An empty text adds the column without a value.
func (r record) put(column, text string) {
	switch {
	case text != "":
		r.fields[column] = append(r.fields[column], text)
	case !r.has(column):
		r.fields[column] = nil
	}
}

// csvColumns has the columns of a CSV export by the names of their fields in JSON. For a field that
// is not in csvColumns, the column has the name of the field.
var csvColumns = map[string]string{
	"summary": "Summary", "description": "Description", "created": "Created", "updated": "Updated",
	"issuetype": "Issue Type", "status": "Status", "priority": "Priority", "resolution": "Resolution",
	"labels": "Labels", "components": "Component/s", "fixVersions": "Fix Version/s", "duedate": "Due Date",
	"environment": "Environment", "assignee": "Assignee", "reporter": "Reporter", "creator": "Creator",
}

// flatten adds the values of a field to the columns that a CSV export has for it.
func (s *issues) flatten(rec record, name string, v any) {
	column := csvColumns[name]
	if column == "" {
		column = name
	}
	object, _ := v.(map[string]any)
	switch name {
	case "project":
		rec.put("Project key", word(object["key"]))
		rec.put("Project name", word(object["name"]))
		return
	case "issuetype":
		if object["subtask"] == true {
			rec.put("Subtask", "true")
		}
	case "parent":
		rec.put("Parent", word(object["key"]))
		return
	case "comment":
		comments, _ := object["comments"].([]any)
		for _, c := range comments {
			one, _ := c.(map[string]any)
			rec.fields["Comment"] = append(rec.fields["Comment"],
				comment{word(one["created"]), person(one["author"]), prose(one["body"])})
		}
		return
	case "issuelinks":
		rec.fields[anyLink] = nil
		links, _ := v.([]any)
		for _, l := range links {
			flattenLink(rec, l)
		}
		return
	case "assignee", "reporter", "creator":
		rec.put(column, person(v))
		rec.put(column+" email", word(object["emailAddress"]))
		rec.put(column+" name", word(object["displayName"]))
		return
	}
	values, many := v.([]any)
	switch {
	case !many:
		values = []any{v}
	case len(values) == 0:
		values = []any{nil}
	}
	for _, v := range values {
		rec.put(column, prose(v))
		if title := s.columns[name]; title != "" && title != column {
			rec.put("Custom field ("+title+")", prose(v))
		}
	}
}

// anyLink is a part of the names of all columns of links. It is also the name of a column without
// values. A record with this column has all links of the issue. So if another column of links is
// missing, it counts as an empty column.
const anyLink = " issue link ("

// flattenLink adds a link to another issue to the column of its kind and direction.
func flattenLink(rec record, v any) {
	link, _ := v.(map[string]any)
	kind, _ := link["type"].(map[string]any)
	for member, direction := range map[string]string{"inwardIssue": "Inward", "outwardIssue": "Outward"} {
		if other, ok := link[member].(map[string]any); ok {
			rec.put(direction+anyLink+word(kind["name"])+")", word(other["key"]))
		}
	}
}

// person returns the user name of a user, or the display name if there is no user name.
func person(v any) string {
	object, _ := v.(map[string]any)
	if name := word(object["name"]); name != "" {
		return name
	}
	return word(object["displayName"])
}

// word returns a value as text. For an object it returns the first of the members name, value and
// key that is not empty.
func word(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case map[string]any:
		for _, member := range []string{"name", "value", "key"} {
			if text := word(v[member]); text != "" {
				return text
			}
		}
		return ""
	default:
		return fmt.Sprint(v)
	}
}
