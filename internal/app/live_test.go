package app

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestALossOfRightsEndsLiveStreams: what another process takes from a member ends the
// stream of changes that it still receives, and nobody else's.
func TestALossOfRightsEndsLiveStreams(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		newPair(t).checkLive()
	})
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		r := start(t, map[string]string{"ALDS_DATA_DIR": dir, "ALDS_ADDR": freeAddr(t)}, Standalone)
		p := &pair{t: t, a: r, b: r}
		p.open("sqlite:" + filepath.Join(dir, "alds.db"))
		p.checkLive()
	})
}

// live is a stream of changes that somebody reads.
type live struct {
	resp  *http.Response
	lines *bufio.Scanner
}

// follow begins a stream of a member in the first process.
func (p *pair) follow(v victim) live {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	p.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.a.base+"/api/changes?from=Story", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if req.SetBasicAuth(v.name, "secret"); v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	if v.name == "admin" {
		req.SetBasicAuth("admin", adminPassword)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = resp.Body.Close() })
	s := live{resp, bufio.NewScanner(resp.Body)}
	if resp.StatusCode != http.StatusOK || !s.tells("retry: 1000") {
		p.t.Fatalf("%s: %s", v.name, resp.Status)
	}
	return s
}

// tells reads up to a line with some text; it reports false when the stream ends.
func (s live) tells(text string) bool {
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), text) {
			return true
		}
	}
	return false
}

func (p *pair) checkLive() {
	p.t.Helper()
	stays := p.follow(victim{name: "admin"})
	for _, l := range losses {
		v := p.members[l.name]
		s := p.follow(v)
		p.b.bulk(`{"AssetType": "Story", "Name": "before ` + l.name + `", "Scope": "Scope:0"}`)
		if !s.tells(`"before ` + l.name) {
			p.t.Fatalf("%s: the stream ends before: %v", l.name, s.lines.Err())
		}
		l.do(p, v)
		lost := time.Now()
		if s.tells("data:") {
			p.t.Errorf("%s: the stream tells %s", l.name, s.lines.Text())
		}
		if took := time.Since(lost); took > lossWithin || !errors.Is(s.lines.Err(), io.ErrUnexpectedEOF) {
			p.t.Errorf("%s: after %s the stream ended with %v", l.name, took, s.lines.Err())
		}
		if by := p.a.brokenBy(); by != "rights" {
			p.t.Errorf("%s: the stream was broken by %q", l.name, by)
		}
		p.b.bulk(`{"AssetType": "Story", "Name": "after ` + l.name + `", "Scope": "Scope:0"}`)
		if !stays.tells(`"after ` + l.name) {
			p.t.Fatalf("%s: the stream of another member ended: %v", l.name, stays.lines.Err())
		}
	}
}
