package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// api sends requests to the interface for one visit.
type api struct {
	transport     http.RoundTripper
	ctx           context.Context
	host, base    string
	authorization string
	sent          []sentRequest
}

// sentRequest is a request that a page has sent, as it is shown at its end.
type sentRequest struct {
	Method, Path string
	Body         string // indented JSON, or empty
}

// failure is what the interface, or a page, refuses a request with.
type failure struct {
	Status   int
	Message  string
	Position *int // byte in the body of the request; nil: none
}

// Error returns the message.
func (f *failure) Error() string { return f.Message }

// get reads a path below the instance into a value. Errors: *failure.
func (a *api) get(path string, into any) error { return a.do(http.MethodGet, path, nil, into) }

// post sends a value as JSON to a path below the instance and reads the answer into
// another. Errors: *failure.
func (a *api) post(path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return a.do(http.MethodPost, path, b, into)
}

// do sends a request and notes it for the end of the page.
func (a *api) do(method, path string, body []byte, into any) error {
	a.note(method, path, body)
	answer, err := a.raw(method, path, "application/json", body)
	if err != nil {
		return err
	}
	if answer.status >= http.StatusBadRequest {
		return answer.failure()
	}
	if into == nil || len(answer.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer.body, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return nil
}

// note keeps a request for the end of the page, without passwords.
func (a *api) note(method, path string, body []byte) {
	a.sent = append(a.sent, sentRequest{Method: method, Path: a.base + "/" + path, Body: indentedJSON(body)})
}

// answer is what the interface answers with.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// raw sends a request of any content and returns its answer, whatever its status is.
func (a *api) raw(method, path, contentType string, body []byte) (answer, error) {
	return a.with(nil, method, path, contentType, body)
}

// with sends a request with further headers.
func (a *api) with(header http.Header, method, path, contentType string, body []byte) (answer, error) {
	r, err := http.NewRequestWithContext(a.ctx, method, "http://"+a.host+a.base+"/"+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, &failure{Status: http.StatusBadRequest, Message: "The address cannot be read."}
	}
	if len(body) == 0 {
		r.Body = nil
	} else {
		r.Header.Set("Content-Type", contentType)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", a.authorization)
	got, err := a.transport.RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	return answer{status: got.StatusCode, header: got.Header, body: b}, err
}

// failure is what an answer says went wrong.
func (a answer) failure() *failure {
	f := &failure{Status: a.status, Message: http.StatusText(a.status)}
	var body struct {
		Error      string
		Exceptions []struct{ Position *int }
	}
	if json.Unmarshal(a.body, &body) == nil && body.Error != "" {
		f.Message = body.Error
		if len(body.Exceptions) > 0 {
			f.Position = body.Exceptions[0].Position
		}
	}
	return f
}

// query is a query of the interface, as JSON has it. Spec: interface 4.3.7.
type query map[string]any

// find runs queries in one snapshot and reads the rows of each into the slice at its
// place. Errors: *failure, with the message of the first query that failed.
func (a *api) find(queries []query, into ...any) error {
	var results []json.RawMessage
	if err := a.post("query.v1", queries, &results); err != nil {
		return err
	}
	if len(results) != len(into) {
		return fmt.Errorf("%d results for %d queries", len(results), len(into))
	}
	for i, rows := range results {
		if err := json.Unmarshal(rows, into[i]); err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
	}
	return nil
}

// findPage runs a query that pages by a cursor, reads its rows, and returns where the
// next page begins; nothing after the last one. Errors: *failure. Spec: interface 4.3.7.
func (a *api) findPage(q query, into any) (next string, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return "", err
	}
	a.note(http.MethodPost, "query.v1", body)
	got, err := a.raw(http.MethodPost, "query.v1", "application/json", body)
	if err != nil {
		return "", err
	}
	if got.status >= http.StatusBadRequest {
		return "", got.failure()
	}
	var pages []struct{ Next *string }
	if err := json.Unmarshal([]byte(got.header.Get("Alds-Result")), &pages); err != nil || len(pages) != 1 {
		return "", errors.Join(errors.New("an answer without a cursor"), err)
	}
	if pages[0].Next != nil {
		next = *pages[0].Next
	}
	results := []any{into}
	return next, json.Unmarshal(got.body, &results)
}

// written is the answer to commands. Spec: interface 2.5.
type written struct {
	AssetsCreated struct {
		OidTokens []string `json:"oidTokens"`
	} `json:"assetsCreated"`
	AssetsModified struct {
		OidTokens []string `json:"oidTokens"`
	} `json:"assetsModified"`
	CommandFailures struct {
		Count    int `json:"count"`
		Commands []struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		} `json:"commands"`
	} `json:"commandFailures"`
}

// write executes commands, all or none. Errors: *failure, with the messages of all that
// failed. Spec: interface 4.3.
func (a *api) write(commands ...any) (written, error) {
	var w written
	if err := a.post("api/asset?atomic=true", commands, &w); err != nil {
		return w, err
	}
	return w, w.refused()
}

// writeUnchanged executes a command on an asset that still has a moment, and keeps a
// comment of it. Errors: *failure, 409 where somebody else has changed the asset.
// Spec: interface 4.3.12.
func (a *api) writeUnchanged(moment, comment string, command any) error {
	body, err := json.Marshal(command)
	if err != nil {
		return err
	}
	path := link("", "api/asset", "atomic", "true")
	if comment != "" {
		path = link("", "api/asset", "atomic", "true", "comment", comment)
	}
	a.note(http.MethodPost, path, body)
	answer, err := a.with(http.Header{"If-Match": {moment}}, http.MethodPost, path, "application/json", body)
	if err != nil {
		return err
	}
	if answer.status >= http.StatusBadRequest {
		return answer.failure()
	}
	var w written
	if err := json.Unmarshal(answer.body, &w); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	if len(w.AssetsModified.OidTokens) == 0 && w.CommandFailures.Count == 0 {
		return &failure{Status: http.StatusConflict, Message: "Nothing was changed: the asset is no longer there, or its project is deleted."}
	}
	return w.refused()
}

// refused is the failure of commands; nil: none failed.
func (w written) refused() error {
	if w.CommandFailures.Count == 0 {
		return nil
	}
	messages := make([]string, len(w.CommandFailures.Commands))
	for i, c := range w.CommandFailures.Commands {
		messages[i] = c.Error.Message
	}
	return &failure{Status: http.StatusBadRequest, Message: strings.Join(messages, "; ")}
}

// asFailure returns the refusal that an error is, or else the error.
func asFailure(err error) (*failure, error) {
	if f, ok := errors.AsType[*failure](err); ok {
		return f, nil
	}
	return nil, err
}

// ignoreRefusal returns errors but refusals, where what is refused is no more anyway.
func ignoreRefusal(err error) error {
	_, err = asFailure(err)
	return err
}
