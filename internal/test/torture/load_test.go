package torture

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	count "sync/atomic"
	"time"
)

const (
	perBlock = 8 // stories that one request creates, each with two tasks
	authors  = 4
)

// The kinds of requests.
const (
	create      = "create"
	update      = "update by query"
	remove      = "delete by query"
	atomic      = "atomic"
	atomicFails = "atomic, one command fails"
	common      = "change of a story that all change"
)

// request is a bulk request and its last answer.
type request struct {
	kind  string
	mark  string // comment of the request, and the Reference of the stories that it creates
	key   string // Idempotency-Key; empty: none
	block *block
	value int // value of Estimate that it sets
	last  answer
}

// block is the stories that one request has created, with all requests about these stories.
type block struct {
	mark     string
	requests []*request // in order; the first request created the stories
	lost     bool       // true: the create failed, or it is not known whether a request was executed
}

// author sends one request after another, about its own blocks and about stories that all authors change.
type author struct {
	s        *site
	api      int
	g        *rand.Rand
	name     string
	project  string
	common   []string
	blocks   []*block
	requests []*request
}

// mixedLoad creates, changes, deletes and reads through both apis. Every request must be executed
// completely or not at all, as its answer says.
func mixedLoad(s *site) {
	l := startLoad(s)
	l.goesOn(0, 1)
	l.end()
	s.settle()
	l.judge()
}

// load is a set of authors that send requests at the same time.
type load struct {
	s       *site
	authors []*author
	stop    chan struct{}
	working sync.WaitGroup
	done    [apis]count.Int64 // by index of the api: requests that were answered 200
}

// goesOn waits for the duration of a case. Then it waits until at least five requests to each of the given
// apis have succeeded since the call. The parameter of has the indexes of these apis.
func (l *load) goesOn(of ...int) {
	l.s.t.Helper()
	var before [apis]int64
	for i := range apis {
		before[i] = l.done[i].Load()
	}
	time.Sleep(lasting()) // this time only decides how many requests are sent
	for _, i := range of {
		l.s.until(fmt.Sprintf("the load of api %d goes on", i+1), func() bool { return l.done[i].Load() >= before[i]+5 })
	}
}

func startLoad(s *site) *load {
	s.t.Helper()
	l := &load{s: s, stop: make(chan struct{})}
	s.loads++
	projects := s.projects(authors)
	story := object{"AssetType": "Story", "Name": "common", "Scope": "Scope:0"}
	common := s.must([]any{story, story, story, story})
	for i, project := range projects {
		l.authors = append(l.authors, &author{
			s: s, api: i % apis, g: rand.New(rand.NewPCG(uint64(i), 7)), name: fmt.Sprintf("load-%d-author-%d", s.loads, i), project: project, common: common,
		})
	}
	s.settle()
	for _, a := range l.authors {
		l.working.Go(func() { a.work(l.stop, &l.done[a.api]) })
	}
	return l
}

func (l *load) end() {
	close(l.stop)
	l.working.Wait()
}

func (a *author) work(stop chan struct{}, done *count.Int64) {
	for {
		select {
		case <-stop:
			return
		default:
			if r := a.next(); a.do(r) {
				done.Add(1)
			}
		}
		if a.g.IntN(3) == 0 {
			a.s.send(a.api, "/query.v1", "", object{"from": "Story", "where": object{"Scope": a.project}, "select": []string{"Name", "Children.Name", "Estimate"}})
		}
	}
}

// next returns a random request: one that creates a block, one about a block, or one that changes a common
// story.
func (a *author) next() *request {
	if a.g.IntN(4) == 0 {
		return a.about(&block{}, common)
	}
	var known []*block
	for _, b := range a.blocks {
		if !b.lost && b.requests[len(b.requests)-1].kind != remove {
			known = append(known, b)
		}
	}
	if len(known) == 0 || a.g.IntN(10) < 4 {
		r := a.about(&block{}, create)
		r.block.mark = r.mark
		a.blocks = append(a.blocks, r.block)
		return r
	}
	kinds := []string{update, update, update, remove, atomic, atomicFails}
	return a.about(known[a.g.IntN(len(known))], kinds[a.g.IntN(len(kinds))])
}

func (a *author) about(b *block, kind string) *request {
	n := len(a.requests) + 1
	r := &request{kind: kind, mark: fmt.Sprintf("%s-request-%d", a.name, n), block: b, value: n}
	if a.g.IntN(2) == 0 {
		r.key = r.mark
	}
	a.requests = append(a.requests, r)
	b.requests = append(b.requests, r)
	return r
}

// body returns the commands of a request.
func (a *author) body(r *request) any {
	mine := object{"Scope": a.project, "Reference": r.block.mark}
	change := object{"from": "Story", "where": mine, "update": object{"Estimate": r.value}}
	switch r.kind {
	case create:
		return a.stories(r)
	case update:
		return change
	case remove:
		return object{"from": "Story", "where": mine, "execute": "Delete"}
	case common:
		return object{"from": a.common[r.value%len(a.common)], "update": object{"Name": r.mark}}
	}
	all := append([]any{object{"config": "atomic"}, change}, a.stories(r)...)
	if r.kind == atomicFails {
		all = append(all, object{"AssetType": "Story", "Scope": a.project}) // the required name is missing
	}
	return all
}

func (a *author) stories(r *request) []any {
	all := make([]any, perBlock)
	for i := range all {
		all[i] = object{
			"AssetType": "Story", "Scope": a.project, "Name": r.mark + ", story " + strconv.Itoa(i), "Reference": r.mark, "Owners": "Member:20", "Estimate": r.value,
			"Children": []any{object{"AssetType": "Task", "Name": "first"}, object{"AssetType": "Task", "Name": "second"}},
		}
	}
	return all
}

// do sends a request. If the request has a key, it repeats the request until the answer is final. It
// returns true if the status is 200.
func (a *author) do(r *request) (done bool) {
	path := "/api/asset?comment=" + url.QueryEscape(r.mark)
	if r.last = a.s.send(a.api, path, r.key, a.body(r)); r.key != "" && r.last.later() {
		r.last = a.s.underKeyAt(a.api, path, r.key, a.body(r))
	}
	done = r.last.status == http.StatusOK
	r.block.lost = r.block.lost || r.last.unknown() || r.kind == create && !done
	if !done {
		time.Sleep(20 * time.Millisecond)
	}
	return done
}
