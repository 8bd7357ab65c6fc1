package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
)

// client sends requests to the interface for one call of an agent.
type client struct {
	ctx    context.Context
	send   http.RoundTripper
	base   string      // URL of the instance, without a slash at the end
	header http.Header // credentials, and what else every request has
}

// answer is an answer of the interface.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// refusal is an error that the interface or a tool reports to the agent.
type refusal struct {
	status  int // 0: a tool has refused its arguments
	message string
}

// Error returns the message.
func (r *refusal) Error() string { return r.message }

// refusef returns an error about the arguments of a tool.
func refusef(format string, args ...any) error {
	return &refusal{message: fmt.Sprintf(format, args...)}
}

// do sends a request. The path may have parameters. body is JSON; nil: no body. Every status is
// returned as an answer.
func (c *client) do(method, path string, body []byte) (answer, error) {
	r, err := http.NewRequestWithContext(c.ctx, method, c.base+"/"+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, refusef("%q cannot be part of an address", path)
	}
	maps.Copy(r.Header, c.header)
	r.Header.Set("Accept", "application/json")
	if body == nil {
		r.Body = nil
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	tooLarge := refusef("The answer is too large: select less, or ask for fewer rows")
	got, err := c.send.RoundTrip(r)
	if fault.KindOf(err) == fault.Invalid { // the service within the process does not return such an answer
		return answer{}, tooLarge
	}
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	b, err := io.ReadAll(io.LimitReader(got.Body, maxRead+1))
	if err == nil && len(b) > maxRead {
		err = tooLarge
	}
	return answer{status: got.StatusCode, header: got.Header, body: b}, err
}

// get sends a GET request and decodes the answer. Errors: *refusal.
func (c *client) get(path string, into any) (http.Header, error) {
	got, err := c.do(http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return got.header, got.decode(into)
}

// decode decodes the answer. Errors: *refusal for a status of 400 or above.
func (a answer) decode(into any) error {
	if a.status >= http.StatusBadRequest {
		return a.refusal()
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("read an answer of the interface: %w", err)
	}
	return nil
}

// refusal returns the error that an answer reports.
func (a answer) refusal() *refusal {
	f := &refusal{status: a.status, message: http.StatusText(a.status)}
	var body struct{ Error string }
	if json.Unmarshal(a.body, &body) == nil && body.Error != "" {
		f.message = body.Error
	}
	return f
}

// asked is a query of the interface in its JSON form. Spec: interface 4.3.7.
type asked map[string]any

// page is what the interface reports about a result set.
type page struct {
	Next  *string
	Total *int
}

// find runs queries in one snapshot and returns the rows of each.
// Errors: *refusal.
func (c *client) find(queries ...asked) ([][]row, []page, error) {
	body, err := json.Marshal(queries)
	if err != nil {
		return nil, nil, err
	}
	got, err := c.do(http.MethodPost, "query.v1", body)
	if err != nil {
		return nil, nil, err
	}
	var rows [][]row
	if err := got.decode(&rows); err != nil {
		return nil, nil, err
	}
	if len(rows) != len(queries) {
		return nil, nil, fmt.Errorf("%d results for %d queries", len(rows), len(queries))
	}
	var pages []page
	if text := got.header.Get("Alds-Result"); text != "" {
		if err := json.Unmarshal([]byte(text), &pages); err != nil {
			return nil, nil, fmt.Errorf("read the header Alds-Result: %w", err)
		}
	}
	return rows, pages, nil
}

// row is a row of an answer. Its members are the tokens of the query, and _oid.
type row map[string]json.RawMessage

// oid returns the Oid of the row.
func (r row) oid() string { return textOf(r["_oid"]) }

// text returns a value of the row as one line.
func (r row) text(token string) string { return cell(r[token]) }

// textOf returns the text of a JSON string, and "" for other JSON.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// link joins a path and its parameters: names and values in turn. Empty values are left out.
func link(path string, pairs ...string) string {
	params := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			params.Set(pairs[i], pairs[i+1])
		}
	}
	if len(params) == 0 {
		return path
	}
	return path + "?" + params.Encode()
}

// isOID reports whether a text has the form of an Oid, which may have a moment.
func isOID(text string) bool {
	name, id, ok := strings.Cut(text, ":")
	id, moment, _ := strings.Cut(id, ":")
	return ok && name != "" && id != "" && strings.Trim(name, letters) == "" && strings.Trim(id+moment, "-0123456789") == ""
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"

// asRefusal returns an error as a refusal. ok is false for every other error.
func asRefusal(err error) (r *refusal, ok bool) { return errors.AsType[*refusal](err) }
