package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/alds-dev/alds/internal/base/fault"
)

// bulk is the part of a bulk answer that the tests read.
type bulk struct {
	AssetsCreated struct {
		OIDTokens []string `json:"oidTokens"`
	} `json:"assetsCreated"`
	CommandFailures struct {
		Count int `json:"count"`
	} `json:"commandFailures"`
}

// headers are additional headers of a request.
type headers map[string]string

// send posts a body and returns the status and the text of the answer. It returns an error if there is no
// answer.
func (s *site) send(ctx context.Context, path string, with headers, body any) (status int, text []byte, err error) {
	status, _, text, err = s.do(ctx, path, with, body)
	return status, text, err
}

// do is like send and also returns the headers of the answer.
func (s *site) do(ctx context.Context, path string, with headers, body any) (status int, said http.Header, text []byte, err error) {
	if text, err = json.Marshal(body); err != nil {
		return 0, nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, nil, err
	}
	req.SetBasicAuth("admin", adminPassword)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	for name, value := range with {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	return res.StatusCode, res.Header, text, err
}

// post sends a request and decodes the answer. It returns an error if the status is not 200. For 503 the
// kind of the error is Transient.
func (s *site) post(ctx context.Context, path string, body, into any) error {
	return s.postWith(ctx, path, nil, body, into)
}

// postWith is like post, with additional headers.
func (s *site) postWith(ctx context.Context, path string, with headers, body, into any) error {
	status, text, err := s.send(ctx, path, with, body)
	if err != nil {
		return err
	}
	if status == http.StatusServiceUnavailable {
		return fault.Transientf(nil, "%s answered 503: %.300s", path, text)
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s answered %d: %.300s", path, status, text)
	}
	return json.Unmarshal(text, into)
}

// mustPost is like post, but fails the test on an error. It repeats a request that is answered 503.
func (s *site) mustPost(path string, body, into any) {
	s.t.Helper()
	s.patiently(path, func() error { return s.post(s.t.Context(), path, body, into) })
}

// project creates a Scope and returns its Oid.
func (s *site) project(name string) string {
	s.t.Helper()
	var b bulk
	s.mustPost("/api/asset", map[string]any{"AssetType": "Scope", "Name": name, "Parent": "Scope:0", "BeginDate": "2026-01-01"}, &b)
	if len(b.AssetsCreated.OIDTokens) != 1 {
		s.t.Fatalf("the project was not created: %+v", b)
	}
	return b.AssetsCreated.OIDTokens[0]
}

// subscribe creates a webhook subscription. maxBatch is the most events in one delivery.
func (s *site) subscribe(url string, maxBatch int, definitions ...map[string]any) {
	s.t.Helper()
	s.mustPost("/api/webhook", map[string]any{"url": url, "enabled": true, "maxBatch": maxBatch, "eventTypes": definitions}, &struct{}{})
}

// story returns a command that creates a story.
func story(project, name string) map[string]any {
	return map[string]any{"AssetType": "Story", "Name": name, "Scope": project}
}
