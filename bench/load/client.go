package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// client sends requests to one service as one member.
type client struct {
	http    *http.Client
	options options
}

func newClient(o options) *client {
	return &client{http: &http.Client{Timeout: 5 * time.Minute}, options: o}
}

// bulkAnswer has the members of the bulk response that the load needs.
type bulkAnswer struct {
	AssetsCreated struct {
		OIDTokens []string `json:"oidTokens"`
		Count     int      `json:"count"`
	} `json:"assetsCreated"`
	CommandFailures struct {
		Commands []struct {
			Error struct {
				Message string `json:"message"`
				Index   int    `json:"sourceCommandIndex"`
			} `json:"error"`
		} `json:"commands"`
		Count int `json:"count"`
	} `json:"commandFailures"`
}

// failures returns a one-line message about the failed commands of a request with status 200,
// or "".
func (a bulkAnswer) failures() string {
	if a.CommandFailures.Count == 0 {
		return ""
	}
	first := a.CommandFailures.Commands[0].Error
	return fmt.Sprintf("%d commands failed, the first being %d: %s", a.CommandFailures.Count, first.Index, first.Message)
}

// row is a story as query.v1 returns it.
type row struct {
	OID         string  `json:"_oid"`
	Reference   *string `json:"Reference"`
	Name        *string `json:"Name"`
	Description *string `json:"Description"`
	Estimate    *string `json:"Estimate"`
}

// bulk sends commands to api/asset. A status other than 200 is an error.
func (c *client) bulk(ctx context.Context, commands any) (bulkAnswer, error) {
	var a bulkAnswer
	err := c.post(ctx, "/api/asset", commands, &a)
	return a, err
}

// stories reads all stories of a project.
func (c *client) stories(ctx context.Context, scope string) ([]row, error) {
	var sets [][]row
	err := c.post(ctx, "/query.v1", map[string]any{
		"from":   "Story",
		"where":  map[string]string{"Scope": scope},
		"select": []string{"Reference", "Name", "Description", "Estimate"},
	}, &sets)
	if err == nil && len(sets) != 1 {
		err = fmt.Errorf("query.v1 answered with %d result sets", len(sets))
	}
	if err != nil {
		return nil, err
	}
	return sets[0], nil
}

// answers reports whether the service answers a query.
func (c *client) answers(ctx context.Context) bool {
	var a any
	return c.post(ctx, "/query.v1", map[string]any{"from": c.options.parent}, &a) == nil
}

func (c *client) post(ctx context.Context, path string, body, into any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.options.url+path, &b)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if c.options.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.options.token)
	} else {
		req.SetBasicAuth(c.options.user, c.options.password)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d: %.200s", path, res.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}
