package hiddentest

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	count    = flag.Int("hidden.requests", 0, "requests to send on each database; 0: 2000, and with -short as many of them as fit into a few seconds")
	seedFlag = flag.Uint64("hidden.seed", 0, "repeat the requests of this seed; 0 takes a new one")
)

// With -short, the test sends requests for the duration brief, but at least as many as least says.
const (
	brief = 2 * time.Second
	least = 150
)

// seedOf returns the seed from the flag, or a new one. A failed test prints the seed.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with -hidden.seed %d", seed)
		}
	})
	return seed
}

// pair has the two services, the source of random requests, and the source of changes to hidden assets.
type pair struct {
	t        *testing.T
	services [2]*service
	g        *maker
	changer  *changer
	last     [2]reply // replies to the last request
}

func startPair(t *testing.T, dialect, leak string, seed uint64) *pair {
	t.Helper()
	p := &pair{t: t}
	for i := range p.services {
		p.services[i] = start(t, dialect, fillService(i+1, leak))
	}
	p.g = newMaker(rand.New(rand.NewPCG(seed, 1)), p.services)
	for _, s := range p.services {
		p.g.moments = append(p.g.moments, s.moments(t)...)
	}
	p.changer = newChanger(p)
	return p
}

// both calls do for both services at the same time, and waits for both. An error fails the test.
func (p *pair) both(do func(i int, s *service) error) {
	p.t.Helper()
	var all sync.WaitGroup
	var errs [2]error
	for i, s := range p.services {
		all.Go(func() { errs[i] = do(i, s) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// ask sends a request to both services and returns their replies.
func (p *pair) ask(r *request) (replies [2]reply) {
	p.t.Helper()
	p.both(func(i int, s *service) error {
		var err error
		if replies[i], err = s.send(r.who, r); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		return nil
	})
	return replies
}

// differs sends a request to both services and reports whether their replies differ.
func (p *pair) differs(r *request) (replies [2]reply, differ bool) {
	p.t.Helper()
	replies = p.ask(r)
	if replies[0].status == http.StatusUnauthorized {
		p.t.Fatalf("%s cannot log in any more: %s", r.who, r)
	}
	return replies, replies[0].String() != replies[1].String()
}

// once sends a request to both services. If the request is asynchronous, it also requests the result. If
// replies of the two services differ, it returns the request with these replies. Otherwise it returns nil.
func (p *pair) once(r *request) *request {
	p.t.Helper()
	if r.kind == undoing {
		switch may, tells := p.mayDiffer(r); {
		case tells:
			return r
		case may:
			return nil
		}
	}
	replies, differ := p.differs(r)
	p.last = replies
	if differ {
		return r
	}
	p.g.made = append(p.g.made, replies[0].created()...)
	p.g.made = p.g.made[max(0, len(p.g.made)-60):]
	for i, s := range p.services {
		s.note(replies[i])
	}
	if replies[0].status != 202 {
		return nil
	}
	poll := &request{kind: r.kind, who: r.who, method: "GET", path: "/api/asset/{later}"}
	p.await(poll)
	if p.last, differ = p.differs(poll); differ {
		return poll
	}
	return nil
}

// undoing is the kind of requests that undo.
const undoing = "undos"

// hiddenConflicts matches the number of conflicts with hidden assets, if there are any.
var hiddenConflicts = regexp.MustCompile(`"hidden":[1-9]`)

// mayDiffer reports whether an undo has conflicts with hidden assets. Undos tell their number (interface
// 4.17.1), and what has such conflicts is not taken back. So the two services may do different things, and the
// undo is not sent. mayDiffer sends only its preview. tells is true if the preview names a hidden asset.
func (p *pair) mayDiffer(r *request) (may, tells bool) {
	p.t.Helper()
	preview := *r
	preview.path, preview.writes = "/api/undo?previewOnly=true", false
	p.last = p.ask(&preview)
	if !hiddenConflicts.MatchString(p.last[0].body) && !hiddenConflicts.MatchString(p.last[1].body) {
		return false, false
	}
	for i, s := range p.services {
		for _, labels := range p.changer.hiders[i].byType {
			for _, label := range labels {
				tells = tells || strings.Contains(p.last[i].body, strconv.Quote(s.oids[label]))
			}
		}
	}
	return true, tells
}

// TestHiddenAssetsDoNotInterfere checks that the replies to callers do not depend on assets that the
// callers do not see. If a seed is given, the number of requests does not depend on the time.
func TestHiddenAssetsDoNotInterfere(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			startPair(t, dialect, "", seedOf(t)).interfere()
		})
	}
}

// TestBoundsHide checks the same for callers who could read and write the hidden projects, but who send
// their requests with access tokens that are bound to other projects. With -short, it runs only on SQLite.
func TestBoundsHide(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			if testing.Short() && dialect != "sqlite" {
				t.Skip("long tier only: the same on another database")
			}
			p := startPair(t, dialect, "Role:4", seedOf(t))
			for _, s := range p.services {
				s.makeTokens(t)
			}
			p.interfere()
		})
	}
}

// interfere sends random requests, while hidden assets change, and compares the replies.
func (p *pair) interfere() {
	p.t.Helper()
	kindsSent, answered, sent := map[string]int{}, map[int]int{}, 0
	until := time.Now().Add(brief)
	for n := range cmp.Or(*count, 2000) {
		if testing.Short() && *count == 0 && *seedFlag == 0 && n >= least && time.Now().After(until) {
			break
		}
		if n%10 == 9 {
			p.changer.change()
		}
		if n%100 == 50 {
			p.mark()
		}
		r := p.g.request()
		kindsSent[r.kind]++
		if bad := p.once(r); bad != nil {
			p.t.Fatalf("request %d: %s", n+1, p.explain(bad))
		}
		answered[p.last[0].status]++
		sent++
	}
	p.nothingHiddenIsWritten()
	p.auditTellsNothingHidden()
	p.t.Logf("%d requests: %v, statuses %v", sent, kindsSent, answered)
}
