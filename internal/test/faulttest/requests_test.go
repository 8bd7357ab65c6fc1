package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testproc"
)

const (
	perBlock = 150 // stories in one request, each with an owner and two tasks
	writers  = 3
)

// The kinds of requests.
const (
	create      = "create"
	update      = "update by query"
	remove      = "delete by query"
	atomic      = "atomic"
	atomicFails = "atomic, one command fails"
)

// outcome is what an answer says about the execution of a request.
type outcome string

const (
	unknown outcome = "unanswered"
	done    outcome = "answered 200"
	nothing outcome = "answered that nothing was changed"
	refused outcome = "given up by the workers"
)

// request is a bulk request and what is known about its execution.
type request struct {
	kind    string
	mark    string // comment of the request; also the Reference of the stories that it creates
	with    headers
	block   *block // block that the request creates or changes
	value   int    // value of Estimate that the request sets
	sent    int
	outcome outcome
	whole   bool // true: the request was executed; judge sets it at the end
}

// block is the stories that one request has created, with all requests about these stories.
type block struct {
	project  string
	mark     string
	requests []*request // in order; the first request created the block
	lost     bool       // true: it is not known whether a request about the block was executed
}

// author is a client that sends one request after another, about its own blocks.
type author struct {
	s        *site
	g        *rand.Rand
	name     string
	project  string
	blocks   []*block
	requests []*request
	bad      []string // descriptions of wrong answers
}

// TestRequestsAreWholeOrAbsent disturbs large requests at random times. It kills the api, makes
// transactions run into deadlocks, cuts connections and restarts MariaDB. For asynchronous requests it also
// kills the worker. Every request must be executed completely or not at all, as its answer says. Without an
// answer, both are allowed. A request that is sent again with its Idempotency-Key must be executed only
// once.
func TestRequestsAreWholeOrAbsent(t *testing.T) {
	together(t)
	g, seed := chance(t)
	s := newSite(t)
	if _, err := s.db.Exec(t.Context(), "CREATE TABLE ballast (n BIGINT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	api, worker := s.startAPI(), s.startBeside("worker")
	authors := make([]*author, writers+1)
	for i := range authors {
		name := fmt.Sprintf("author-%d", i)
		authors[i] = &author{s: s, g: rand.New(rand.NewPCG(seed, uint64(i))), name: name, project: s.project(name)}
	}
	crossed := authors[writers] // sends only the requests that run into deadlocks
	crossed.do(t.Context(), crossed.making())

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan struct{}, writers)
	for _, a := range authors[:writers] {
		go func() {
			for ctx.Err() == nil {
				a.do(t.Context(), a.next())
			}
			ended <- struct{}{}
		}()
	}
	began := time.Now()
	struck := strikeAll(g, manyFaults(), 500*time.Millisecond, append(s.databaseFaults(),
		breakage{"api killed", 12, func() { api.MustRun(); api.Kill(); api = s.startAPI() }},
		breakage{"worker killed", 3, func() { worker.MustRun(); worker.Kill(); worker = s.startBeside("worker") }},
		breakage{"deadlock", 3, crossed.cross},
	))
	took := time.Since(began)
	stop()
	for range writers {
		<-ended
	}
	t.Logf("faults in %s: %v", took.Round(time.Millisecond), struck)
	judge(t, s, authors)
	s.sound()
}

// next returns the next request: one that creates a block, or one about an existing block.
func (a *author) next() *request {
	var known []*block
	for _, b := range a.blocks {
		if !b.lost && b.requests[len(b.requests)-1].kind != remove {
			known = append(known, b)
		}
	}
	if len(known) == 0 || a.g.IntN(10) < 4 {
		return a.making()
	}
	kinds := []string{update, update, update, remove, atomic, atomicFails}
	return a.about(known[a.g.IntN(len(known))], kinds[a.g.IntN(len(kinds))])
}

func (a *author) making() *request {
	r := a.about(&block{project: a.project}, create)
	r.block.mark = r.mark
	a.blocks = append(a.blocks, r.block)
	return r
}

func (a *author) about(b *block, kind string) *request {
	n := len(a.requests) + 1
	r := &request{kind: kind, mark: fmt.Sprintf("%s-request-%d", a.name, n), block: b, value: n, outcome: unknown}
	switch a.g.IntN(5) {
	case 0, 1:
		r.with = headers{"Idempotency-Key": r.mark}
	case 2:
		r.with = headers{"Idempotency-Key": r.mark, "Prefer": "respond-async"}
	}
	a.requests = append(a.requests, r)
	b.requests = append(b.requests, r)
	return r
}

// body returns the commands of a request.
func (r *request) body() any {
	mine := map[string]any{"Scope": r.block.project, "Reference": r.block.mark}
	change := map[string]any{"from": "Story", "where": mine, "update": map[string]any{"Estimate": r.value}}
	switch r.kind {
	case create:
		return r.stories()
	case update:
		return change
	case remove:
		return map[string]any{"from": "Story", "where": mine, "execute": "Delete"}
	}
	all := append([]any{map[string]any{"config": "atomic"}, change}, r.stories()...)
	if r.kind == atomicFails {
		all = append(all, map[string]any{"AssetType": "Story", "Scope": r.block.project}) // this command fails, because the required name is missing
	}
	return all
}

func (r *request) stories() []any {
	all := make([]any, perBlock)
	for i := range all {
		s := story(r.block.project, fmt.Sprintf("%s, story %d", r.mark, i))
		s["Reference"], s["Owners"], s["Estimate"] = r.mark, "Member:20", r.value
		s["Children"] = []any{
			map[string]any{"AssetType": "Task", "Name": "first"}, map[string]any{"AssetType": "Task", "Name": "second"},
		}
		all[i] = s
	}
	return all
}

// do sends a request. If the request has an Idempotency-Key, do repeats it until its outcome is clear.
// Otherwise it sends the request only once.
func (a *author) do(ctx context.Context, r *request) {
	for until := time.Now().Add(2 * testproc.AnswersIn); ctx.Err() == nil && time.Now().Before(until); {
		r.sent++
		status, text, err := a.s.send(ctx, "/api/asset?comment="+url.QueryEscape(r.mark), r.with, r.body())
		r.outcome = a.read(r, status, text, err)
		if r.outcome == done || r.outcome == refused || r.with == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.block.lost = r.block.lost || r.outcome == unknown || r.kind == create && r.outcome != done
}

// read returns what an answer says about the execution of a request.
func (a *author) read(r *request, status int, text []byte, err error) outcome {
	switch {
	case err != nil:
		testproc.Becomes(context.Background(), a.s.base, 0)
		return unknown
	case status == http.StatusServiceUnavailable && bytes.Contains(text, []byte("outcome of the request is not known")):
		return unknown
	case status == http.StatusServiceUnavailable:
		return nothing
	case status == http.StatusConflict && r.sent > 1, status == http.StatusAccepted: // another process executes it
		return unknown
	case status == http.StatusBadRequest && bytes.Contains(text, []byte("never ended")):
		return refused // the workers tried five times
	}
	var b bulk
	failures := 0
	if r.kind == atomicFails {
		failures = 1
	}
	if err := json.Unmarshal(text, &b); status != http.StatusOK || err != nil || b.CommandFailures.Count != failures {
		a.bad = append(a.bad, fmt.Sprintf("%s (%s) was answered %d: %.400s", r.mark, r.kind, status, text))
	}
	return done
}

// cross makes a request of the author run into a deadlock.
func (a *author) cross() {
	a.s.t.Helper()
	b := a.blocks[0]
	like := b.mark + ", story %"
	c := crossing{
		s:     a.s,
		first: int64(a.s.count("SELECT MIN(id) FROM asset WHERE name LIKE ?", like)),
		last:  int64(a.s.count("SELECT MAX(id) FROM asset WHERE name LIKE ?", like)),
	}
	ended := make(chan struct{})
	before := a.s.count(deadlocks)
	r := a.about(b, update)
	r.with = headers{"Idempotency-Key": r.mark} // with the key, the method do repeats the request until it is done
	c.other = func() {
		go func() {
			a.do(a.s.t.Context(), r)
			close(ended)
		}()
	}
	err := c.deadlock(a.s.t.Context())
	if err == nil {
		<-ended
	}
	if err != nil || r.outcome != done || a.s.count(deadlocks) == before {
		a.s.t.Errorf("a request that met a deadlock: %s; %d deadlocks; the other side: %v", r.outcome, a.s.count(deadlocks)-before, err)
	}
}

const deadlocks = "SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status WHERE variable_name = 'Innodb_deadlocks'"
