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

// bulk is the part of a bulk answer that is looked at.
type bulk struct {
	AssetsCreated struct {
		OIDTokens []string `json:"oidTokens"`
	} `json:"assetsCreated"`
	CommandFailures struct {
		Count int `json:"count"`
	} `json:"commandFailures"`
}

// headers of a request beside the usual ones.
type headers map[string]string

// send posts a body and returns the status and text of the answer; an error
// says that there was none.
func (s *site) send(ctx context.Context, path string, with headers, body any) (status int, text []byte, err error) {
	status, _, text, err = s.do(ctx, path, with, body)
	return status, text, err
}

// do is send with the headers of the answer.
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

// post sends a request and decodes what it is answered with; any status but
// 200 is an error.
func (s *site) post(ctx context.Context, path string, body, into any) error {
	return s.postWith(ctx, path, nil, body, into)
}

// postWith is post with further headers.
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

// mustPost is post for what must succeed.
func (s *site) mustPost(path string, body, into any) {
	s.t.Helper()
	s.patiently(path, func() error { return s.post(s.t.Context(), path, body, into) })
}

// project makes a Scope and returns its Oid.
func (s *site) project(name string) string {
	s.t.Helper()
	var b bulk
	s.mustPost("/api/asset", map[string]any{"AssetType": "Scope", "Name": name, "Parent": "Scope:0", "BeginDate": "2026-01-01"}, &b)
	if len(b.AssetsCreated.OIDTokens) != 1 {
		s.t.Fatalf("the project was not created: %+v", b)
	}
	return b.AssetsCreated.OIDTokens[0]
}

// subscribe makes a subscription.
func (s *site) subscribe(url string, maxBatch int, definitions ...map[string]any) {
	s.t.Helper()
	s.mustPost("/api/webhook", map[string]any{"url": url, "enabled": true, "maxBatch": maxBatch, "eventTypes": definitions}, &struct{}{})
}

// story is a command that creates one.
func story(project, name string) map[string]any {
	return map[string]any{"AssetType": "Story", "Name": name, "Scope": project}
}
