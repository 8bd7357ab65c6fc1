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

// Bounds of what is shown of an answer.
const (
	maxFailures     = 100
	maxListedAssets = 200  // assets of a list
	maxShownCommand = 1000 // bytes of a command among other words
	maxTables       = 100
)

// ran is what became of a request.
type ran struct {
	Action    string // of the console
	Status    int
	Took      time.Duration
	Message   string     // why it was refused
	Lines     []textLine // of the request, around what is wrong
	Failures  []commandFailure
	Failed    int // how many commands
	Lists     []assetList
	Tables    []resultTable
	Sets      int // of rows, also those that are not shown
	Previewed *previewed
	Explained []explainedQuery
	Raw       string
	RawWhole  bool
	Bytes     int // of the answer

	places []int // byte offsets of what is wrong
}

// StatusText returns the words of the status.
func (r *ran) StatusText() string { return http.StatusText(r.Status) }

// Milliseconds is how long the answer took.
func (r *ran) Milliseconds() string { return fmt.Sprintf("%.1f", r.Took.Seconds()*1000) }

// commandFailure is a command that failed.
type commandFailure struct {
	place
	Message string
	Command string // as it was projected

	index     int // of the command in the request, from 0
	projected jsonObject
}

// Words word the message for people; empty: they are the message.
func (f commandFailure) Words() string { return wordsFor(f.Message) }

// wordsFor words a message for people; empty: the words are the message.
func wordsFor(message string) string {
	if words := ui.Readable(message); words != message {
		return words
	}
	return ""
}

// assetList are the assets that a request created, changed or operated on.
type assetList struct {
	Title  string
	Oids   []string
	Count  int
	Hidden int
}

// refusedRun is a request that was not carried out.
func refusedRun(message string) *ran {
	return &ran{Status: http.StatusBadRequest, Message: message, RawWhole: true}
}

// runRequest sends a request.
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

// send sends the request of the editor to a path and reads what every answer says.
// A refused one has a message. Errors: *ui.Error, where the session does not count.
func send(v *ui.Visit, action, path, request string) (*ran, ui.Answer, error) {
	v.API.Note(http.MethodPost, path, nil) // the request stands in the editor
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

// read reads an answer: that of a bulk request is an object, that of query.v1 a list of
// result sets. Spec: interface 2.5, 4.7.
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

// listTitles are the words for the lists of a bulk answer.
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

// readResults reads result sets to the end of their list. All of them together show
// as many rows as a table may.
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

// setPages gives the tables what the answer says beside them.
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

// failureOf reads a command with its error. Spec: interface 2.5.3.
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

// readPlaces reads where the failed commands are wrong.
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

// HiddenTables is how many result sets are not shown as tables.
func (r *ran) HiddenTables() int { return r.Sets - len(r.Tables) }

// HasParts reports whether the page shows the answer in another form than its text.
func (r *ran) HasParts() bool {
	return r.Message != "" || r.Sets > 0 || len(r.Lists) > 0 || len(r.Failures) > 0 || r.Previewed != nil
}
