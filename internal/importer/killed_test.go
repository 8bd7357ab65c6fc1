package importer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/importer"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// gate is a proxy of a service. It holds the nth write and closes the channel held when the write
// arrives. When the test closes the channel released, the gate sends the write to the service if
// pass is true, and drops it otherwise. It then closes the channel done and ends the connection of
// the client.
type gate struct {
	url                  string
	n                    int32 // the number of the write, from 1; 0: none is held
	held, released, done chan struct{}
	pass                 bool
}

// newGate starts a gate. For every write that it does not hold, the gate first calls the function
// before, and then passes the write on.
func newGate(t *testing.T, base string, n int32, pass bool, before func()) *gate {
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{n: n, held: make(chan struct{}), released: make(chan struct{}), done: make(chan struct{}), pass: pass}
	target := u.Scheme + "://" + u.Host
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host})
	var writes atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isWrite := strings.HasSuffix(r.URL.Path, "/api/asset")
		if isWrite && writes.Add(1) == g.n {
			defer close(g.done)
			body, _ := io.ReadAll(r.Body) // now, because the client is killed later
			close(g.held)
			<-g.released
			if g.pass {
				late, _ := http.NewRequest(r.Method, target+r.URL.Path, bytes.NewReader(body))
				late.Header = r.Header.Clone()
				if res, err := http.DefaultClient.Do(late); err != nil {
					t.Error(err)
				} else {
					_ = res.Body.Close()
				}
			}
			panic(http.ErrAbortHandler)
		}
		if isWrite {
			before()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	at, _ := url.Parse(s.URL)
	u.Host = at.Host
	g.url = u.String()
	return g
}

// cutFile returns a CSV with tasks before their stories, and with stories that depend on each
// other in a circle.
func cutFile(prefix string) (text string, records int) {
	var b strings.Builder
	b.WriteString("key,kind,title,parent,needs,project\n")
	for i := range 12 {
		fmt.Fprintf(&b, "%[1]s%[2]dT,Task,task %[2]d,%[1]s%[2]d,,\n", prefix, i)
		fmt.Fprintf(&b, "%[1]s%[2]d,Story,story %[2]d,,%[1]s%[3]d,P %[1]s\n", prefix, i, (i+1)%12)
	}
	return b.String(), 24
}

const cutMapping = `
key: key
type: kind
project: project
attributes:
  Name: title
  Parent: {column: parent, key: true, for: [Task]}
  Dependencies: {column: needs, key: true, later: true, for: [Story]}
`

// TestKilled kills an import (kill -9) at one of its writes, and runs it again. In the end the
// service must have every item once, with all links, whether the write reaches the service or not.
// The write may reach the service after the second import has begun.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: it kills imports at ten writes; TestCancelled ends them at each")
	}
	inBoth(t, func(t *testing.T, base string) {
		for n := int32(1); n <= 9; n += 2 {
			for _, pass := range []bool{true, false} {
				t.Run(fmt.Sprintf("write %d, arrives %v", n, pass), func(t *testing.T) {
					prefix := fmt.Sprintf("K%d%t-", n, pass)
					dir := t.TempDir()
					text, records := cutFile(prefix)
					put(t, dir+"/cut.csv", text)
					put(t, dir+"/map.yaml", cutMapping)
					g := newGate(t, base, n, pass, func() {})
					args := []string{"import", "csv", "--map", dir + "/map.yaml", "--batch", "5", dir + "/cut.csv"}
					p := testproc.Start(t, testproc.Options{Env: append(os.Environ(), "ALDS_URL="+g.url), Log: os.Stderr}, "api", args...)
					select {
					case <-g.held:
					case <-time.After(testproc.AnswersIn):
						t.Fatal("the import did not send that write")
					}
					p.Kill()
					close(g.released)
					counts, said, err := bring(t, importer.Options{URL: base, Format: "csv", File: dir + "/cut.csv", Batch: 5, Patience: time.Minute}, dir+"/map.yaml")
					if err != nil || counts.Records != records {
						t.Fatalf("%+v, %v\n%s", counts, err, said)
					}
					whole(t, base, prefix)
				})
			}
		}
	})
}

// TestCancelled cancels the context of an import at each of its writes, and runs the import again.
// In the end the service must have every item once, with all links.
func TestCancelled(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		dir := t.TempDir()
		text, _ := cutFile("C-")
		put(t, dir+"/cut.csv", text)
		put(t, dir+"/map.yaml", cutMapping)
		f, err := os.Open(dir + "/map.yaml")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, err := importer.ReadMapping(f)
		if err != nil {
			t.Fatal(err)
		}
		for n := int32(1); ; n++ {
			g := newGate(t, base, n, n%2 == 0, func() {})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			var said bytes.Buffer
			go func() {
				_, err := importer.Run(ctx, importer.Options{URL: g.url, Format: "csv", File: dir + "/cut.csv", Batch: 3, Patience: time.Minute, Out: &said, Log: &said}, m)
				ended <- err
			}()
			select {
			case <-g.held:
				cancel()
				close(g.released)
				if err := <-ended; err == nil {
					t.Error("a canceled import returns no error")
				}
			case err := <-ended:
				cancel()
				if err != nil || n < 5 {
					t.Fatalf("the %dth import: %v\n%s", n, err, &said)
				}
				whole(t, base, "C-")
				return
			}
		}
	})
}

// TestGoesOn checks that an import continues an interrupted import, even if the service has refused
// all records of the last request of that import. The import must not change links of assets that
// existed before it.
func TestGoesOn(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		dir := t.TempDir()
		put(t, dir+"/map.yaml", cutMapping)
		o := importer.Options{Format: "csv", File: dir + "/rows.csv", Project: "Scope:0", Batch: 1, Patience: time.Minute}
		cut := func(n int32, rows string) {
			t.Helper()
			put(t, o.File, "key,kind,title,parent,needs,project\n"+rows)
			m, err := importer.ReadMapping(strings.NewReader(cutMapping))
			if err != nil {
				t.Fatal(err)
			}
			g := newGate(t, base, n, true, func() {})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				select {
				case <-g.held:
					cancel()
					close(g.released)
				case <-ctx.Done():
				}
			}()
			o.URL, o.Out, o.Log = g.url, io.Discard, io.Discard
			if _, err := importer.Run(ctx, o, m); n > 0 && err == nil {
				t.Fatal("the import was not interrupted")
			}
			o.URL = base
		}
		cut(0, "G-1,Story,one,,G-2,\nG-2,Story,two,,,\n")
		cut(1, "G-1,Story,one,,G-3,\nG-2,Story,two,,,\nG-3,Story,,,,\n")
		counts, said, err := bring(t, o, dir+"/map.yaml")
		if !errors.Is(err, importer.ErrProblems) || counts != (importer.Counts{Records: 3, Skipped: 2, Rejected: 1}) {
			t.Errorf("after a request whose records were refused: %+v, %v\n%s", counts, err, said)
		}
		cut(2, "G-1,Story,one,,G-4,\nG-2,Story,two,,,\nG-4,Story,four,,G-5,\nG-5,Story,five,,G-4,\n")
		if counts, said, err = bring(t, o, dir+"/map.yaml"); err != nil {
			t.Errorf("%+v, %v\n%s", counts, err, said)
		}
		query := map[string]any{"from": "Story", "select": []string{"Reference", "Dependencies.Reference"}, "sort": []string{"Reference"}}
		if got, want := rows(t, base, query), "G-1 | [G-2]\nG-2 | []\nG-4 | [G-5]\nG-5 | [G-4]\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

func sortedLines(text string) []string {
	return slices.Sorted(strings.Lines(text))
}

// whole checks that the service has every item of a cutFile once.
func whole(t *testing.T, base, prefix string) {
	t.Helper()
	var want strings.Builder
	for i := range 12 {
		fmt.Fprintf(&want, "story %d | [%s%d] | P %s\n", i, prefix, (i+1)%12, prefix)
	}
	got := rows(t, base, map[string]any{"from": "Story", "find": prefix, "findin": []string{"Reference"}, "select": []string{"Name", "Dependencies.Reference", "Scope.Name"}, "sort": []string{"ID"}})
	if strings.Join(sortedLines(got), "") != strings.Join(sortedLines(want.String()), "") {
		t.Errorf("stories:\n%s", got)
	}
	want.Reset()
	for i := range 12 {
		fmt.Fprintf(&want, "task %d | %s%d\n", i, prefix, i)
	}
	got = rows(t, base, map[string]any{"from": "Task", "find": prefix, "findin": []string{"Reference"}, "select": []string{"Name", "Parent.Reference"}})
	if strings.Join(sortedLines(got), "") != strings.Join(sortedLines(want.String()), "") {
		t.Errorf("tasks:\n%s", got)
	}
	if got := rows(t, base, map[string]any{"from": "Scope", "where": map[string]any{"Name": "P " + prefix}, "select": []string{"Name"}}); strings.Count(got, "\n") != 1 {
		t.Errorf("projects:\n%s", got)
	}
}
