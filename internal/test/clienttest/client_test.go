package clienttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
)

// client sends requests as a system administrator. It requests the metadata without a login, as old clients
// do.
type client struct {
	t     *testing.T
	base  string // http://host:port/instance
	model *model
	tag   string // ETag of the metadata
	names int    // number of unique texts that the client has made

	found  map[string][]string // by type: Oids of assets that relations can refer to
	custom map[string]int      // custom attributes by name: number of types on which each was written
	did    map[string]bool     // types that the client has tested
}

// connect returns a client that has read the metadata.
func connect(t *testing.T, base string) *client {
	t.Helper()
	c := &client{t: t, base: base, found: map[string][]string{}, custom: map[string]int{}, did: map[string]bool{}}
	c.learn()
	return c
}

// learn reads the metadata. The metadata must differ from what the client read before. A second request
// must be answered 304.
func (c *client) learn() {
	c.t.Helper()
	c.model = &model{}
	if status := c.request(http.MethodGet, "/meta.v1", nil, c.model); status != http.StatusOK || len(c.model.AssetTypes) == 0 {
		c.t.Fatalf("%d, %d types", status, len(c.model.AssetTypes))
	}
	if status := c.request(http.MethodGet, "/meta.v1", nil, nil); status != http.StatusNotModified {
		c.t.Errorf("%d for metadata that is known", status)
	}
}

// object is a JSON object.
type object = map[string]any

// result is the decoded answer of api/asset.
type result struct {
	AssetsCreated    struct{ OidTokens []string }
	AssetsModified   struct{ OidTokens []string }
	AssetsOperatedOn struct{ OidTokens []string }
	QueryResult      struct{ Results [][]object }
	CommandFailures  struct {
		Commands []struct {
			Error struct {
				Message            string
				SourceCommandIndex int
			}
		}
	}
}

// failures returns the messages of the failed commands. The key is the index of the command.
func (r *result) failures() map[int]string {
	all := map[int]string{}
	for _, f := range r.CommandFailures.Commands {
		all[f.Error.SourceCommandIndex] = f.Error.Message
	}
	return all
}

// send posts commands and returns the result. Commands may fail.
func (c *client) send(commands ...object) *result {
	c.t.Helper()
	var r result
	if len(commands) == 0 {
		return &r
	}
	c.request(http.MethodPost, "/api/asset", commands, &r)
	return &r
}

// row reads attributes of an asset. The asset may be deleted.
func (c *client) row(oid string, names []string) object {
	c.t.Helper()
	_, row := c.sendAndRead(oid, names)
	return row
}

// sendAndRead posts commands, which may fail. It then reads attributes of the asset oid.
func (c *client) sendAndRead(oid string, names []string, commands ...object) (*result, object) {
	c.t.Helper()
	r := c.send(append(commands, object{"from": oid, "select": names, "filter": []string{shownDeleted}})...)
	if len(r.QueryResult.Results) != 1 || len(r.QueryResult.Results[0]) != 1 {
		c.t.Fatalf("%s: no row of %v: %+v", oid, names, r)
	}
	return r, r.QueryResult.Results[0][0]
}

// request sends a request and decodes the answer. If body is nil, the request has no body and no login, and
// its If-None-Match is the ETag of the client's metadata.
func (c *client) request(method, path string, body, answer any) int {
	c.t.Helper()
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		text = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, text)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.SetBasicAuth("admin", password)
	} else {
		req.Header.Set("If-None-Match", c.tag)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	switch res.StatusCode {
	case http.StatusNotModified:
	case http.StatusOK:
		err = json.Unmarshal(got, answer)
	default:
		err = errors.New(res.Status)
	}
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%.2000v\n%.2000s", method, path, err, body, got)
	}
	if tag := res.Header.Get("ETag"); tag != "" {
		c.tag = tag
	}
	return res.StatusCode
}
