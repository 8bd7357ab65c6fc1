package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// API sends requests to the interface on behalf of one visit.
type API struct {
	transport     http.RoundTripper
	ctx           context.Context
	host, base    string
	authorization string
	sent          []sentRequest
	writes        []string // ids of the writes that its requests have executed
}

// sentRequest is a request that the footer of the page shows.
type sentRequest struct {
	Method, Path string
	Body         string // indented JSON, or empty
}

// Error is a refused request. It comes from the interface or from a page.
type Error struct {
	Status   int
	Message  string
	Position *int // byte offset in the body of the request; nil if the answer has no position
}

// Error returns the message.
func (f *Error) Error() string { return f.Message }

// Get sends a GET request to a path below the instance and decodes the answer into a value.
// Errors: *Error.
func (a *API) Get(path string, into any) error { return a.Do(http.MethodGet, path, nil, into) }

// Post sends a value as JSON to a path below the instance and decodes the answer into another
// value. Errors: *Error.
func (a *API) Post(path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return a.Do(http.MethodPost, path, b, into)
}

// Do sends a request and adds it to the footer of the page. It decodes the answer if into is not
// nil. Errors: *Error for a status of 400 or above.
func (a *API) Do(method, path string, body []byte, into any) error {
	a.Note(method, path, body)
	answer, err := a.Raw(method, path, "application/json", body)
	if err != nil {
		return err
	}
	if answer.Status >= http.StatusBadRequest {
		return answer.Err()
	}
	if into == nil || len(answer.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return nil
}

// Note adds a request to the footer of the page. The body must not contain a password: it is
// shown.
func (a *API) Note(method, path string, body []byte) {
	a.sent = append(a.sent, sentRequest{Method: method, Path: a.base + "/" + path, Body: IndentedJSON(body)})
}

// Answer is an answer of the interface.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Raw sends a request with a body of any content type. Every status is returned as an Answer, also
// a status of 400 or above.
func (a *API) Raw(method, path, contentType string, body []byte) (Answer, error) {
	return a.With(nil, method, path, contentType, body)
}

// With does the same as Raw, with additional headers.
func (a *API) With(header http.Header, method, path, contentType string, body []byte) (Answer, error) {
	r, err := http.NewRequestWithContext(a.ctx, method, "http://"+a.host+a.base+"/"+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, &Error{Status: http.StatusBadRequest, Message: "The address cannot be read."}
	}
	if len(body) == 0 {
		r.Body = nil
	} else {
		r.Header.Set("Content-Type", contentType)
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", a.authorization)
	got, err := a.transport.RoundTrip(r)
	if err != nil {
		return Answer{}, err
	}
	defer got.Body.Close()
	if id := got.Header.Get(HeaderWrite); id != "" {
		a.writes = append(a.writes, id)
	}
	b, err := io.ReadAll(got.Body)
	return Answer{Status: got.StatusCode, Header: got.Header, Body: b}, err
}

// Err returns the error that an answer reports. The message is the text of the status if the
// body has no message.
func (a Answer) Err() *Error {
	f := &Error{Status: a.Status, Message: http.StatusText(a.Status)}
	var body struct {
		Error      string
		Exceptions []struct{ Position *int }
	}
	if json.Unmarshal(a.Body, &body) == nil && body.Error != "" {
		f.Message = body.Error
		if len(body.Exceptions) > 0 {
			f.Position = body.Exceptions[0].Position
		}
	}
	return f
}

// Query is a query of the interface in its JSON form. Spec: interface 4.3.7.
type Query map[string]any

// Find runs queries in one snapshot. It decodes the rows of each query into the slice at the
// same index of into. Errors: *Error, with the message of the first query that failed.
func (a *API) Find(queries []Query, into ...any) error {
	var results []json.RawMessage
	if err := a.Post("query.v1", queries, &results); err != nil {
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

// FindPage runs a query that pages by a cursor and decodes its rows. It returns the cursor of
// the next page, which is empty after the last page. Errors: *Error. Spec: interface 4.3.7.
func (a *API) FindPage(q Query, into any) (next string, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return "", err
	}
	a.Note(http.MethodPost, "query.v1", body)
	got, err := a.Raw(http.MethodPost, "query.v1", "application/json", body)
	if err != nil {
		return "", err
	}
	if got.Status >= http.StatusBadRequest {
		return "", got.Err()
	}
	var pages []struct{ Next *string }
	if err := json.Unmarshal([]byte(got.Header.Get("Alds-Result")), &pages); err != nil || len(pages) != 1 {
		return "", errors.Join(errors.New("the answer has no cursor"), err)
	}
	if pages[0].Next != nil {
		next = *pages[0].Next
	}
	results := []any{into}
	return next, json.Unmarshal(got.Body, &results)
}

// Written is the answer to commands. Spec: interface 2.5.
type Written struct {
	AssetsCreated struct {
		OidTokens []string `json:"oidTokens"`
	} `json:"assetsCreated"`
	AssetsModified struct {
		OidTokens []string `json:"oidTokens"`
	} `json:"assetsModified"`
	AssetsOperatedOn struct {
		OidTokens []string `json:"oidTokens"`
	} `json:"assetsOperatedOn"`
	CommandFailures struct {
		Count    int `json:"count"`
		Commands []struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		} `json:"commands"`
	} `json:"commandFailures"`
}

// Write executes either all commands or none. Errors: *Error, with the messages of all
// commands that failed. Spec: interface 4.3.
func (a *API) Write(commands ...any) (Written, error) {
	var w Written
	if err := a.Post("api/asset?atomic=true", commands, &w); err != nil {
		return w, err
	}
	return w, w.refused()
}

// WriteUnchanged executes a command only if the asset has not changed since moment, and stores the
// comment with the change. Errors: *Error, 409 if another change came first. Spec: interface
// 4.3.12.
func (a *API) WriteUnchanged(moment, comment string, command any) error {
	body, err := json.Marshal(command)
	if err != nil {
		return err
	}
	path := Link("", "api/asset", "atomic", "true")
	if comment != "" {
		path = Link("", "api/asset", "atomic", "true", "comment", comment)
	}
	a.Note(http.MethodPost, path, body)
	answer, err := a.With(http.Header{"If-Match": {moment}}, http.MethodPost, path, "application/json", body)
	if err != nil {
		return err
	}
	if answer.Status >= http.StatusBadRequest {
		return answer.Err()
	}
	var w Written
	if err := json.Unmarshal(answer.Body, &w); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	if len(w.AssetsModified.OidTokens) == 0 && w.CommandFailures.Count == 0 {
		return &Error{Status: http.StatusConflict, Message: "Nothing was changed: the asset is no longer there, or its project is deleted."}
	}
	return w.refused()
}

// refused returns the messages of all failed commands as one error, or nil.
func (w Written) refused() error {
	if w.CommandFailures.Count == 0 {
		return nil
	}
	messages := make([]string, len(w.CommandFailures.Commands))
	for i, c := range w.CommandFailures.Commands {
		messages[i] = c.Error.Message
	}
	return &Error{Status: http.StatusBadRequest, Message: strings.Join(messages, "; ")}
}

// AsError splits an error: it returns a refusal as *Error, and any other error unchanged.
func AsError(err error) (*Error, error) {
	if f, ok := errors.AsType[*Error](err); ok {
		return f, nil
	}
	return nil, err
}

// IgnoreRefusal returns nil for a refusal and any other error unchanged. It is for clean-up, where
// a refused request means that there is nothing left to delete.
func IgnoreRefusal(err error) error {
	_, err = AsError(err)
	return err
}
