package faulttest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	counter "sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// feeding is a test in which clients write, and other clients read the change feed, while processes are
// killed.
type feeding struct {
	*site    // the site of the first process
	bases    []string
	stories  []string
	project  string
	written  counter.Int64
	writing  sync.WaitGroup
	ended    counter.Bool // true: the writers send no more requests
	answered counter.Int64
}

// TestTheFeedHasEveryChangeOnce lets several clients write at a time while processes are killed. Each
// reader of the feed must get every committed change exactly once, and the changes of an asset in their
// order. That must be so even if a reader loses answers.
func TestTheFeedHasEveryChangeOnce(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		url := testdb.EmptyURL(t, "mysql")
		f := newFeeding(t, 2, "DATABASE_URL="+url, "REDIS_URL="+testdb.Redis(t))
		f.site.start("api", "migrate").Wait()
		f.run("api", url)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		f := newFeeding(t, 1, "ALDS_DATA_DIR="+dir)
		f.run("standalone", "sqlite:"+filepath.Join(dir, "alds.db"))
	})
}

func newFeeding(t *testing.T, processes int, settings ...string) *feeding {
	t.Helper()
	f := &feeding{site: &site{t: t, logs: &testproc.Log{}}}
	f.env = append(os.Environ(), "ALDS_ADMIN_PASSWORD="+adminPassword, "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=", "ALDS_LOG_LEVEL=warn", "ALDS_DB_CONNS=24")
	f.env = append(f.env, settings...)
	for range processes {
		f.bases = append(f.bases, "http://"+testproc.FreeAddr(t)+"/alds")
	}
	return f
}

// begin starts the process that serves a base URL, and waits until it answers.
func (f *feeding) begin(command, base string) *testproc.Process {
	f.t.Helper()
	addr := strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/alds")
	env := slices.Concat(f.env, []string{"ALDS_ADDR=" + addr, "ALDS_ADMIN_ADDR=" + testproc.FreeAddr(f.t)})
	p := testproc.Start(f.t, testproc.Options{Env: env, Log: f.logs}, command)
	if !testproc.Becomes(f.t.Context(), base, 0) {
		f.t.Fatal("the api does not answer")
	}
	return p
}

// run writes and reads for some seconds, and kills processes in this time. Then it compares the events that
// the readers got with the database.
func (f *feeding) run(command, url string) {
	f.t.Helper()
	var processes []*testproc.Process
	for _, base := range f.bases {
		processes = append(processes, f.begin(command, base))
	}
	f.base = f.bases[0]
	f.project = f.site.project("feed")
	for i := range 8 {
		var made bulk
		f.mustPost("/api/asset", story(f.project, fmt.Sprint("shared ", i)), &made)
		f.stories = append(f.stories, made.AssetsCreated.OIDTokens...)
	}
	for i := range 4 {
		f.writing.Go(func() { f.write(rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	readers := []*feedReader{{page: 17}, {page: 100, wait: 1}, {page: 1000, lossy: true}, {live: true}, {live: true, lossy: true}}
	var reading sync.WaitGroup
	for i, r := range readers {
		r.f, r.random, r.after = f, rand.New(rand.NewPCG(2, uint64(i))), "0"
		reading.Go(r.read)
	}
	for range 2 {
		f.goesOn()
		victim := rand.IntN(len(processes))
		processes[victim].Kill()
		processes[victim] = f.begin(command, f.bases[victim])
	}
	f.goesOn()
	f.ended.Store(true)
	f.writing.Wait()
	reading.Wait()
	for _, p := range processes {
		p.Stop()
	}
	f.judge(url, readers)
}

// goesOn waits until some more writes have been answered.
func (f *feeding) goesOn() {
	f.t.Helper()
	to := f.answered.Load() + int64(depth(40, 150))
	f.until("writes are answered", func() bool { return f.answered.Load() >= to })
}

// write sends random writes to shared and new assets until f.ended is true. Some writes take long, so that
// they are committed after later writes.
func (f *feeding) write(random *rand.Rand) {
	for ; !f.ended.Load(); time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond) {
		var commands []any
		n := 1
		if random.IntN(4) == 0 {
			n = 2 + random.IntN(60)
		}
		for range n {
			if random.IntN(3) == 0 {
				commands = append(commands, story(f.project, fmt.Sprint("new ", f.written.Add(1))))
				continue
			}
			commands = append(commands, map[string]any{"from": f.stories[random.IntN(len(f.stories))], "update": map[string]any{"Estimate": f.written.Add(1)}})
		}
		path := f.bases[random.IntN(len(f.bases))] + "/api/asset"
		if status, _, err := f.exchange(path, commands); err == nil && status == http.StatusOK {
			f.answered.Add(1)
		}
	}
}

// exchange posts commands to a path and returns the answer. If commands is nil, it sends a GET request.
func (f *feeding) exchange(path string, commands any) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
	defer cancel()
	method, body := http.MethodGet, io.Reader(nil)
	if commands != nil {
		text, err := json.Marshal(commands)
		if err != nil {
			return 0, nil, err
		}
		method, body = http.MethodPost, strings.NewReader(string(text))
	}
	req, err := http.NewRequestWithContext(ctx, method, path, body)
	if err != nil {
		return 0, nil, err
	}
	req.SetBasicAuth("admin", adminPassword)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, text, err
}

// feedReader reads the feed from its beginning to its end.
type feedReader struct {
	f          *feeding
	random     *rand.Rand
	page, wait int
	live       bool // true: it reads live streams, each for a while
	lossy      bool // true: it loses some answers

	after string
	got   []feedEvent
	parts int // number of pages or streams that were read
}

type feedEvent struct {
	Sequence int64 `json:"sequenceId"`
	Target   struct {
		OID string `json:"_oid"`
	} `json:"targetAsset"`
}

// asset returns the Oid of the changed asset, without the moment.
func (e feedEvent) asset() string { return e.Target.OID[:strings.LastIndexByte(e.Target.OID, ':')] }

// read reads the feed until all writes have ended and there is no further event.
func (r *feedReader) read() {
	for until := time.Now().Add(5 * time.Minute); time.Now().Before(until); {
		over := r.f.ended.Load()
		if over {
			r.f.writing.Wait()
		} else {
			time.Sleep(time.Duration(r.random.IntN(40)) * time.Millisecond)
		}
		if r.live && !over {
			r.stream()
		} else if r.turn() && over {
			return
		}
	}
	r.f.t.Errorf("a reader does not come to the end: %+v", r.after)
}

// turn reads one page. It returns true if that was the end of the feed.
func (r *feedReader) turn() bool {
	base := r.f.bases[r.random.IntN(len(r.f.bases))]
	status, text, err := r.f.exchange(fmt.Sprintf("%s/api/changes?after=%s&page=%d&wait=%d", base, r.after, cmp.Or(r.page, 100), r.wait), nil)
	if err != nil || status == http.StatusServiceUnavailable || r.lossy && r.random.IntN(3) == 0 {
		return false
	}
	var p struct {
		Events []feedEvent `json:"events"`
		Next   string      `json:"next"`
		More   bool        `json:"more"`
	}
	if status != http.StatusOK || json.Unmarshal(text, &p) != nil || p.Next == "" {
		r.f.t.Errorf("a page: %d %.300s", status, text)
		return false
	}
	r.parts++
	r.got, r.after = append(r.got, p.Events...), p.Next
	return !p.More && len(p.Events) == 0
}

// stream reads a live stream for up to a second.
func (r *feedReader) stream() {
	ctx, cancel := context.WithTimeout(r.f.t.Context(), time.Duration(100+r.random.IntN(900))*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.f.bases[r.random.IntN(len(r.f.bases))]+"/api/changes?after=0", nil)
	if err != nil {
		r.f.t.Error(err)
		return
	}
	req.SetBasicAuth("admin", adminPassword)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", r.after)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		if res.StatusCode != http.StatusServiceUnavailable {
			r.f.t.Errorf("a live stream: %s", res.Status)
		}
		return
	}
	r.parts++
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var id, data string
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			id = value
		case "data":
			data = value
		case "": // the event is complete
			if r.lossy && r.random.IntN(50) == 0 {
				return
			}
			if data != "" {
				var e feedEvent
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					r.f.t.Errorf("%v in %s", err, data)
				}
				r.got = append(r.got, e)
			}
			r.after, data = cmp.Or(id, r.after), ""
		}
	}
}

// judge compares what the readers got with the versions of committed writes.
func (f *feeding) judge(url string, readers []*feedReader) {
	f.t.Helper()
	d, err := db.Open(f.t.Context(), url, db.Options{MaxConns: 2})
	if err != nil {
		f.t.Fatal(err)
	}
	defer d.Close()
	want, err := db.Column[int64](f.t.Context(), d, `SELECT v.moment FROM asset_version v JOIN audit a ON a.id = v.audit_id WHERE a.last_moment > 0 ORDER BY v.moment`)
	if err != nil {
		f.t.Fatal(err)
	}
	late := 0
	if err := d.QueryRow(f.t.Context(), `SELECT COUNT(*) FROM audit WHERE feed > last_moment`).Scan(&late); err != nil {
		f.t.Fatal(err)
	}
	for i, r := range readers {
		last := map[string]int64{}
		var got []int64
		for _, e := range r.got {
			if e.Sequence <= last[e.asset()] {
				f.t.Errorf("reader %d gets %d of %s behind %d", i, e.Sequence, e.asset(), last[e.asset()])
			}
			last[e.asset()] = e.Sequence
			got = append(got, e.Sequence)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			f.t.Errorf("reader %d gets %d changes, %d of them different; there are %d", i, len(got), len(slices.Compact(slices.Clone(got))), len(want))
		}
		f.t.Logf("reader %d: %d changes in %d parts", i, len(got), r.parts)
	}
	f.t.Logf("%d requests were answered, %d positions lie behind their moments", f.answered.Load(), late)
	if len(want) < 100 || f.answered.Load() < 20 {
		f.t.Errorf("only %d changes were made", len(want))
	}
}
