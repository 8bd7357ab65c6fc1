package attack

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	warmUps   = 4 // reads before an attack: they fill the caches and log the second member in
	readPause = 15 * time.Millisecond
	giveUp    = time.Minute // how long a test waits for an event before it fails
)

// leastReads is how often the second member must have read before an attack may end.
func leastReads() int { return depth(10, 20) }

// attack describes an attack, and how much it may disturb the process and other clients.
type attack struct {
	memory int64         // most memory of the process, in bytes
	most   metrics       // highest allowed values of some metrics
	seen   *tally        // answers to the attacker
	turns  int           // half of the reads must end before the attacker gets more turns than this; 0: no limit
	lasts  time.Duration // how long the attack lasts at least, in the long tier

	// run attacks until ctx ends. It calls on when the attack has started. Then the other clients start to
	// send requests.
	run func(ctx context.Context, on func())
}

// others are the clients that do not attack: the second member, and a client that requests /healthz and
// /metrics.
type others struct {
	s      *site
	who    string
	kept   *http.Client // reuses its connections
	fresh  *http.Client // opens a new connection for each request
	reads  []read
	before int64 // memory of the process before attacks, in bytes
	held   int64 // highest memory that a failed test has reported, in bytes
	limits timeLimits
}

// page is a query for the first 50 stories of Scope:0.
const page = `{"from":"Story","select":["Name","Estimate","Scope.Name","Owners.Name"],"where":{"Scope":"Scope:0"},"sort":["Name"],"page":{"start":0,"size":50}}`

type read struct{ method, path, body string }

// sights is what the other clients measured during an attack.
type sights struct {
	turns   []int    // for each read: number of turns of the attacker while the read ran
	wrong   []string // requests that were not answered 200
	highest metrics
	times   times
}

// watch creates the second member and lets it read before the first attack. oneStory is the Oid of an
// existing story.
func (s *site) watch(oneStory string) *others {
	s.t.Helper()
	o := &others{s: s, who: s.member("second"), kept: from("127.0.0.1"), fresh: from("127.0.0.1"), reads: []read{
		{http.MethodPost, "/query.v1", page},
		{http.MethodGet, "/rest-1.v1/Data/" + oneStory + "?sel=Name,Estimate", ""},
	}}
	o.kept.Timeout, o.fresh.Timeout = giveUp, giveUp
	o.fresh.Transport.(*http.Transport).DisableKeepAlives = true //nolint:forcetypeassert // set by from
	seen := sights{highest: metrics{}}
	for n := range warmUps {
		o.look(s.t.Context(), &seen, n, attack{})
	}
	if len(seen.wrong) > 0 {
		s.t.Fatalf("before any attack: %s", seen.wrong[0])
	}
	o.limits = o.timeQuiet()
	o.before, _ = s.proc.Memory()
	return o
}

// during carries out an attack. It fails the test if the attack disturbed the other clients, or if the
// process used too much memory.
func (o *others) during(t *testing.T, a attack) {
	t.Helper()
	seen := o.bear(t, a)
	if !testing.Short() {
		o.inTime(t, a, seen)
	}
	if _, most := o.s.proc.Memory(); most > max(a.memory, o.held) {
		o.held = most
		t.Errorf("the process held %d MiB, allowed are %d", most/mib, a.memory/mib)
	}
}

// bear carries out an attack. It fails the test if requests of the other clients failed or a metric was too
// high.
func (o *others) bear(t *testing.T, a attack) sights {
	t.Helper()
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	on, ended := make(chan struct{}), make(chan struct{})
	result := make(chan sights, 1)
	go func() { result <- o.lookOn(t.Context(), a, on, enough, ended) }()
	func() {
		defer close(ended) // also if the attack fails the test
		a.run(ctx, sync.OnceFunc(func() { close(on) }))
	}()
	seen := <-result
	o.s.proc.MustRun()
	_, most := o.s.proc.Memory()
	t.Logf("%d reads of the second member, beside so many turns of the attacker: %v; highest %v; the process held %d MiB before, %d MiB at most",
		len(seen.turns), seen.turns, seen.highest, o.before/mib, most/mib)
	seen.check(t, a)
	return seen
}

// lookOn lets the other clients send requests from the start of an attack until its end. It calls enough
// when they have sent enough requests.
func (o *others) lookOn(ctx context.Context, a attack, on <-chan struct{}, enough func(), ended <-chan struct{}) sights {
	seen := sights{highest: metrics{}}
	select {
	case <-on:
	case <-ended:
	}
	lasts := a.lasts
	if testing.Short() {
		lasts = 0
	}
	for began, n := time.Now(), 1; ; n++ {
		o.look(ctx, &seen, n, a)
		if past := time.Since(began); past >= lasts && n >= leastReads() || past >= lasts+giveUp {
			enough()
		}
		select {
		case <-ended:
			return seen
		case <-time.After(readPause):
		}
	}
}

// look sends one read as the second member, and requests /healthz and /metrics.
func (o *others) look(ctx context.Context, seen *sights, n int, a attack) {
	r, c := o.reads[n%len(o.reads)], o.kept
	if n%len(o.reads) == 1 {
		c = o.fresh
	}
	turns, began := a.seen.turns(), time.Now()
	status, answer, err := o.s.ask(ctx, c, o.who, r.method, r.path, []byte(r.body))
	if ctx.Err() != nil {
		return
	}
	seen.turns = append(seen.turns, a.seen.turns()-turns)
	seen.times.reads = append(seen.times.reads, time.Since(began))
	if err != nil || status != http.StatusOK {
		seen.wrong = append(seen.wrong, fmt.Sprintf("a read was answered %d %.200s %v", status, answer, err))
	}
	began = time.Now()
	if status, _, err := get(ctx, o.kept, o.s.health); err != nil || status != http.StatusOK {
		seen.wrong = append(seen.wrong, fmt.Sprintf("/healthz: %d %v", status, err))
	}
	seen.times.health = max(seen.times.health, time.Since(began))
	m, err := o.s.metrics(ctx, o.kept)
	if err != nil {
		seen.wrong = append(seen.wrong, fmt.Sprintf("/metrics: %v", err))
		return
	}
	seen.highest.raise(m, a.most)
}

// check fails the test if the attack disturbed the other clients more than it may.
func (seen sights) check(t *testing.T, a attack) {
	t.Helper()
	if n := len(seen.turns); n < leastReads() {
		t.Errorf("the second member read %d times, and should have been able to read %d times", n, leastReads())
	}
	allowed := 0
	if !testing.Short() {
		allowed = len(seen.turns) / 100
	}
	if n := len(seen.wrong); n > allowed {
		t.Errorf("%d of %d requests of the others went wrong: %s", n, len(seen.turns), seen.wrong[0])
	}
	starved := 0
	for _, n := range seen.turns {
		if n > a.turns {
			starved++
		}
	}
	if a.turns > 0 && starved > len(seen.turns)/2 {
		t.Errorf("%d of %d reads waited for more than %d turns of the attacker: %v", starved, len(seen.turns), a.turns, seen.turns)
	}
	for name, most := range a.most {
		if seen.highest[name] > most {
			t.Errorf("%s was %v, allowed are %v", name, seen.highest[name], most)
		}
	}
}

// settles waits until the memory of the process is at most one and a half times the memory before the
// attacks. It fails the test if that takes too long.
func (o *others) settles() {
	o.s.t.Helper()
	within := giveUp
	if !testing.Short() {
		within = 20 * time.Second
	}
	began := time.Now()
	for {
		now, _ := o.s.proc.Memory()
		if now*2 <= o.before*3 {
			o.s.t.Logf("the memory is back at %d MiB after %s", now/mib, time.Since(began).Round(time.Second))
			return
		}
		if time.Since(began) > within {
			o.s.t.Errorf("the process still holds %d MiB, %d before", now/mib, o.before/mib)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}
