package processes

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the slow queries that a process keeps. It keeps them in parts of five minutes each,
// which together cover the last hour.
const (
	maxSlow     = 20 // maximum number of queries in a part, and in the row of a process
	maxSlowJSON = 32 << 10
	maxQuery    = 2000 // maximum number of bytes of a query; a longer query is cut
	slowParts   = 12
	slowPart    = 5 * time.Minute

	// quick is the duration below which a query is never kept.
	quick = 10 * time.Millisecond
)

// SlowQuery is the text of a query without its values, and how long its runs took.
type SlowQuery struct {
	Query   string        `json:"query"`
	Cut     bool          `json:"cut,omitempty"` // Query is only its beginning
	Count   int           `json:"count"`         // number of runs that were among the slowest
	Slowest time.Duration `json:"slowest"`
	Total   time.Duration `json:"total"`
	Rows    int           `json:"rows"` // number of rows of the slowest run
	Ago     time.Duration `json:"ago"`  // time since the slowest run ended

	at time.Time
}

// Slowest keeps the slowest queries of the last hour. It is safe for concurrent use;
// NewSlowest returns one.
type Slowest struct {
	now   func() time.Time
	least atomic.Int64 // in nanoseconds; a query that took less is not kept

	mu    sync.Mutex
	parts [slowParts]part
}

// part has the slowest queries of five minutes.
type part struct {
	number  int64 // number of five-minute intervals since 1970
	byQuery map[string]*SlowQuery
}

// NewSlowest returns an empty collection. If now is nil, it uses the clock of the process, which is
// good enough to measure how long ago a query ran.
func NewSlowest(now func() time.Time) *Slowest {
	if now == nil {
		now = time.Now
	}
	s := &Slowest{now: now}
	s.least.Store(int64(quick))
	return s
}

// Wants reports whether a query that took this long should be noted. It costs one atomic load. It
// returns false for a nil Slowest.
func (s *Slowest) Wants(took time.Duration) bool { return s != nil && int64(took) >= s.least.Load() }

// Note keeps a query for which Wants is true. query is its text without values.
func (s *Slowest) Note(query string, took time.Duration, rows int) {
	cut := len(query) > maxQuery
	if cut {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	p := s.present(now)
	q := p.byQuery[query]
	if q == nil {
		if len(p.byQuery) >= maxSlow && !p.makeRoom(took) {
			return
		}
		q = &SlowQuery{Query: query, Cut: cut}
		p.byQuery[query] = q
	}
	q.Count++
	q.Total += took
	if took >= q.Slowest {
		q.Slowest, q.Rows, q.at = took, rows, now
	}
	s.least.Store(int64(p.least()))
}

// present returns the part for the time now. When new five minutes have begun, it returns an empty
// part.
func (s *Slowest) present(now time.Time) *part {
	number := now.Unix() / int64(slowPart.Seconds())
	p := &s.parts[number%slowParts]
	if p.number != number || p.byQuery == nil {
		*p = part{number: number, byQuery: map[string]*SlowQuery{}}
		s.least.Store(int64(quick))
	}
	return p
}

// makeRoom removes the fastest query if the new query took longer than it. It reports whether it
// has removed a query.
func (p *part) makeRoom(took time.Duration) bool {
	if p.least() >= took {
		return false
	}
	for text, q := range p.byQuery {
		if q.Slowest == p.least() {
			delete(p.byQuery, text)
			return true
		}
	}
	return false
}

// least returns how long a query must take to be kept in the part.
func (p *part) least() time.Duration {
	if len(p.byQuery) < maxSlow {
		return quick
	}
	least := time.Duration(1<<63 - 1)
	for _, q := range p.byQuery {
		least = min(least, q.Slowest)
	}
	return least
}

// List returns the slowest queries of the last hour, the slowest first.
func (s *Slowest) List() []SlowQuery {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	first := s.present(now).number - slowParts
	sum := map[string]SlowQuery{}
	for _, p := range s.parts {
		if p.number <= first {
			continue
		}
		for text, q := range p.byQuery {
			sum[text] = added(sum[text], *q)
		}
	}
	list := make([]SlowQuery, 0, len(sum))
	for _, q := range sum {
		q.Ago = max(0, now.Sub(q.at))
		list = append(list, q)
	}
	return ordered(list)
}

// added returns the sum of two entries for the same query.
func added(a, b SlowQuery) SlowQuery {
	if a.Slowest > b.Slowest {
		a, b = b, a
	}
	b.Count += a.Count
	b.Total += a.Total
	return b
}

// ordered sorts queries, the slowest first, and returns as many as the row of a process may have.
func ordered(list []SlowQuery) []SlowQuery {
	slices.SortFunc(list, func(a, b SlowQuery) int {
		return cmp.Or(cmp.Compare(b.Slowest, a.Slowest), cmp.Compare(a.Query, b.Query))
	})
	return list[:min(len(list), maxSlow)]
}

// text returns the list as JSON for the row of the process. If the JSON is too long, the fastest
// queries are left out.
func (s *Slowest) text() string {
	if s == nil {
		return "[]"
	}
	for list := s.List(); len(list) > 0; list = list[:len(list)-1] {
		if b, err := json.Marshal(list); err == nil && len(b) <= maxSlowJSON {
			return string(b)
		}
	}
	return "[]"
}
