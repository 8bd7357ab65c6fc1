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

// TestALossOfRightsEndsLiveStreams checks that the live stream of a member ends when another
// process removes rights of the member, and that other streams go on.
func TestALossOfRightsEndsLiveStreams(t *testing.T) {
	t.Parallel()
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		newPair(t).checkLive(lossesFrom(2))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		r := start(t, map[string]string{"ALDS_DATA_DIR": dir, "ALDS_ADDR": "127.0.0.1:0"}, Standalone)
		p := &pair{t: t, a: r, b: r}
		p.open("sqlite:" + filepath.Join(dir, "alds.db"))
		p.checkLive(lossesFrom(0))
	})
}

// live is a live stream of changes.
type live struct {
	lines *bufio.Scanner
}

// follow opens a live stream of a member in the first process.
func (p *pair) follow(v victim) live {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Minute)
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
	s := live{bufio.NewScanner(resp.Body)}
	if resp.StatusCode != http.StatusOK || !s.tells("retry: 1000") {
		p.t.Fatalf("%s: %s", v.name, resp.Status)
	}
	return s
}

// tells reads lines until a line contains text. It returns false if the stream ends before such a
// line.
func (s live) tells(text string) bool {
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), text) {
			return true
		}
	}
	return false
}

func (p *pair) checkLive(some []loss) {
	p.t.Helper()
	stays := p.follow(victim{name: "admin"})
	for _, l := range some {
		v := p.member(l.name)
		s := p.follow(v)
		p.b.bulk(`{"AssetType": "Story", "Name": "before ` + l.name + `", "Scope": "Scope:0"}`)
		if !s.tells(`"before ` + l.name) {
			p.t.Fatalf("%s: the stream ends before: %v", l.name, s.lines.Err())
		}
		l.do(p, v)
		if s.tells("data:") {
			p.t.Errorf("%s: the stream tells %s", l.name, s.lines.Text())
		}
		if !errors.Is(s.lines.Err(), io.ErrUnexpectedEOF) { // the server did not cut the stream off
			p.t.Errorf("%s: the stream ended with %v", l.name, s.lines.Err())
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
