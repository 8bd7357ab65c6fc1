package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// Bounds of the parts of an answer that are shown.
const (
	maxFailures     = 100
	maxListedAssets = 200  // assets in a list
	maxShownCommand = 1000 // bytes of a command within a sentence
	maxTables       = 100
)

// ran is the result of a request.
type ran struct {
	Action    string // action of the console
	Status    int
	Took      time.Duration
	Message   string     // why the request was refused
	Lines     []textLine // lines of the request around the errors
	Failures  []commandFailure
	Failed    int // number of failed commands
	Lists     []assetList
	Tables    []resultTable
	Sets      int // result sets, including those that are not shown
	Previewed *previewed
	Explained []explainedQuery
	Raw       string
	RawWhole  bool
	Bytes     int // size of the answer

	places []int // byte offsets of the errors
}

// StatusText returns the words of the status.
func (r *ran) StatusText() string { return http.StatusText(r.Status) }

// Milliseconds returns the time until the answer, formatted.
func (r *ran) Milliseconds() string { return fmt.Sprintf("%.1f", r.Took.Seconds()*1000) }

// commandFailure is a failed command.
type commandFailure struct {
	place
	Message string
	Command string // the command, as the interface returned it

	index     int // index of the command in the request, from 0; -1: unknown
	projected jsonObject
}

// Words returns the message in plain English, or "" if the message has no code.
func (f commandFailure) Words() string { return wordsFor(f.Message) }

// wordsFor returns a message in plain English, or "" if the message has no code.
func wordsFor(message string) string {
	if words := ui.Readable(message); words != message {
		return words
	}
	return ""
}

// assetList has the assets that a request created, changed or operated on.
type assetList struct {
	Title  string
	Oids   []string
	Count  int
	Hidden int
}

// refusedRun returns the result of a request that the page did not run.
func refusedRun(message string) *ran {
	return &ran{Status: http.StatusBadRequest, Message: message, RawWhole: true}
}

// runRequest sends a request and reads its answer.
func runRequest(v *ui.Visit, c console) (*ran, error) {
	r, got, err := send(v, "run", c.Path, c.Request)
	if err != nil || r.Message != "" {
		return r, err
	}
	if err := r.read(got.Body); err != nil {
		r.Message = "The answer cannot be shown as a table: " + err.Error()
	}
	var pages []resultPage
	if json.Unmarshal([]byte(got.Header.Get("Alds-Result")), &pages) == nil {
		r.setPages(pages)
	}
	r.Lines = excerpt(c.Request, r.places)
	failures := make([]*commandFailure, len(r.Failures))
	for i := range r.Failures {
		failures[i] = &r.Failures[i]
	}
	r.locateFailures(c.Request, failures)
	return r, nil
}

// send sends the request to a path and reads the parts that every answer has. If the request
// is refused, the result has a message. Errors: *ui.Error if the session is not valid.
func send(v *ui.Visit, action, path, request string) (*ran, ui.Answer, error) {
	v.API.Note(http.MethodPost, path, nil) // without a body, because the editor shows it
	begin := time.Now()
	got, err := v.API.Raw(http.MethodPost, path, "application/json", []byte(request))
	if err != nil {
		if v.Request.Context().Err() != nil {
			return nil, got, err
		}
		return refusedRun("The answer is larger than a page may read, or broke off; what the request writes may be written. Ask for fewer rows, with page."), got, nil
	}
	if got.Status == http.StatusUnauthorized {
		return nil, got, got.Err()
	}
	r := &ran{Action: action, Status: got.Status, Took: time.Since(begin), Bytes: len(got.Body)}
	r.Raw, r.RawWhole = spread(got.Body, maxRaw)
	if got.Status >= http.StatusBadRequest {
		refused := got.Err()
		r.Message = refused.Message
		if refused.Position != nil {
			r.places = []int{*refused.Position}
			r.Lines = excerpt(request, r.places)
		}
	}
	return r, got, nil
}

// read decodes an answer. The answer of a bulk request is an object; the answer of query.v1 is
// a list of result sets. Spec: interface 2.5, 4.7.
func (r *ran) read(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	token, err := d.Token()
	switch {
	case err != nil:
		return err
	case token == json.Delim('['):
		return r.readResults(d)
	case token == json.Delim('{'):
		return eachMember(d, func(name string) error { return r.readMember(d, name) })
	}
	return errJSON
}

// listTitles has the titles for the lists of a bulk answer.
var listTitles = map[string]string{"assetsCreated": "Created", "assetsModified": "Changed", "assetsOperatedOn": "Operated on"}

func (r *ran) readMember(d *json.Decoder, name string) error {
	switch {
	case listTitles[name] != "":
		var list struct {
			OidTokens []string `json:"oidTokens"`
			Count     int      `json:"count"`
		}
		err := d.Decode(&list)
		if list.Count > 0 {
			shown := list.OidTokens[:min(len(list.OidTokens), maxListedAssets)]
			r.Lists = append(r.Lists, assetList{Title: listTitles[name], Oids: shown, Count: list.Count, Hidden: list.Count - len(shown)})
		}
		return err
	case name == "commandFailures":
		return r.readFailures(d)
	case name == "diagnostics":
		return r.readPlaces(d)
	case name == "queryResult":
		if token, err := d.Token(); err != nil || token != json.Delim('{') {
			return errJSON
		}
		return eachMember(d, func(name string) error { return r.readQueryResult(d, name) })
	}
	var skipped json.RawMessage
	return d.Decode(&skipped)
}

func (r *ran) readQueryResult(d *json.Decoder, name string) error {
	switch name {
	case "results":
	case "pages":
		var pages []resultPage
		err := d.Decode(&pages)
		r.setPages(pages)
		return err
	default:
		var skipped json.RawMessage
		return d.Decode(&skipped)
	}
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return errJSON
	}
	return r.readResults(d)
}

// readResults decodes result sets up to the end of their list. All tables together show at
// most maxResultRows rows.
func (r *ran) readResults(d *json.Decoder) error {
	left := maxResultRows
	return eachElement(d, func() error {
		t, err := readTable(d, left)
		left -= len(t.Rows)
		if r.Sets++; r.Sets <= maxTables {
			r.Tables = append(r.Tables, t)
		}
		return err
	})
}

// setPages sets the cursor and total of the tables.
func (r *ran) setPages(pages []resultPage) {
	for i := range min(len(pages), len(r.Tables)) {
		r.Tables[i].Page = pages[i]
	}
}

func (r *ran) readFailures(d *json.Decoder) error {
	value, err := readOrdered(d)
	list, _ := value.(jsonObject)
	commands, _ := list.get("commands").([]any)
	r.Failed = len(commands)
	for _, c := range commands[:min(len(commands), maxFailures)] {
		command, _ := c.(jsonObject)
		r.Failures = append(r.Failures, failureOf(command))
	}
	return err
}

// failureOf decodes a command with its error. Spec: interface 2.5.3.
func failureOf(command jsonObject) commandFailure {
	var f commandFailure
	for _, m := range command {
		value, _ := m.Value.(jsonObject)
		if m.Name != "error" {
			f.Command, f.projected = beginOf(compactJSON(m.Value), maxShownCommand), value
			continue
		}
		f.Message, _ = value.get("message").(string)
		if n, err := strconv.Atoi(fmt.Sprint(value.get("sourceCommandIndex"))); err == nil {
			f.index = n
		} else {
			f.index = -1
		}
	}
	return f
}

// readPlaces decodes the positions of the failed commands.
func (r *ran) readPlaces(d *json.Decoder) error {
	var list []struct{ Failure, Position, Line, Column int }
	err := d.Decode(&list)
	for _, at := range list {
		r.places = append(r.places, at.Position)
		if at.Failure >= 0 && at.Failure < len(r.Failures) {
			f := &r.Failures[at.Failure]
			f.Line, f.Column, f.Position = at.Line, at.Column, at.Position
		}
	}
	return err
}

// HiddenTables returns the number of result sets that are not shown as tables.
func (r *ran) HiddenTables() int { return r.Sets - len(r.Tables) }

// HasParts reports whether the page shows more of the answer than its raw text.
func (r *ran) HasParts() bool {
	return r.Message != "" || r.Sets > 0 || len(r.Lists) > 0 || len(r.Failures) > 0 || r.Previewed != nil
}
