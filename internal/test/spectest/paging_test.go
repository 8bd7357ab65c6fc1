package spectest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testseed"
)

// The sizes of TestPagesUnderWrites: rows that stay, rows that change, and how often the whole result is
// read in each order.
const (
	steadyRows = 240
	movingRows = 60
	walks      = 2 // for each order
)

// orders are the sort orders in which pages are read. Writes change the values of moving rows in each of
// these orders.
var orders = []string{`[]`, `["Name"]`, `["-Estimate", "Name"]`, `["Status.Order", "-Order"]`}

// TestPagesUnderWrites reads a large result page by page with the cursor. Meanwhile, another client
// creates, deletes, renames and reorders some of the rows. Each of the other rows must be on exactly one
// page.
func TestPagesUnderWrites(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base, _ := startService(t, dialect)
			seed := testseed.New(t)
			p := &pager{runner: runner{t: t, base: base}, rnd: rand.New(rand.NewPCG(seed, 1))}
			w := &mover{runner: runner{t: t, base: base}, rnd: rand.New(rand.NewPCG(seed, 2))}
			w.fill()
			p.scope, p.steady = w.scope, w.steady
			turns, ended := make(chan bool), make(chan string, 1)
			go func() {
				for range turns {
					if problem := w.write(); problem != "" {
						ended <- problem
						return
					}
				}
				ended <- ""
			}()
			problem := p.walkAll(turns, ended)
			close(turns)
			if problem != "" {
				t.Fatal(problem)
			}
			if problem := <-ended; problem != "" {
				t.Fatal(problem)
			}
		})
	}
}

// command sends a body to api/asset and returns the decoded answer, or a description of the problem.
func (r *runner) command(body string) (bulkAnswer, string) {
	var a bulkAnswer
	if problem := r.ask("POST /api/asset\n\n" + body); problem != "" {
		return a, problem
	}
	if err := json.Unmarshal(r.body, &a); err != nil {
		return a, fmt.Sprintf("%d %.300s", r.status, r.body)
	}
	if a.Failures.Count > 0 {
		return a, fmt.Sprintf("%.300s: %.600s", body, r.body)
	}
	return a, ""
}

// bulkAnswer is the part of the answer of api/asset that these tests read.
type bulkAnswer struct {
	Created  struct{ OidTokens []string } `json:"assetsCreated"`
	Failures struct{ Count int }          `json:"commandFailures"`
	Query    struct {
		Results [][]map[string]any
		Pages   []struct{ Next *string }
	} `json:"queryResult"`
}

// mover is the client that changes rows. steady and moving are the Oids of rows that stay and of rows that
// it changes.
type mover struct {
	runner
	rnd            *rand.Rand
	scope          string
	steady, moving []string
}

// fill creates the project and its rows. It chooses at random which rows are steady and which are moving.
func (w *mover) fill() {
	w.t.Helper()
	a, problem := w.command(`{"AssetType": "Scope", "Name": "pages", "Parent": "Scope:0", "BeginDate": "2026-01-01"}`)
	if problem != "" {
		w.t.Fatal(problem)
	}
	w.scope = a.Created.OidTokens[0]
	var stories []string
	for range steadyRows + movingRows {
		stories = append(stories, w.story())
	}
	if a, problem = w.command("[" + strings.Join(stories, ",") + "]"); problem != "" {
		w.t.Fatal(problem)
	}
	w.rnd.Shuffle(len(a.Created.OidTokens), func(i, k int) {
		all := a.Created.OidTokens
		all[i], all[k] = all[k], all[i]
	})
	w.moving, w.steady = a.Created.OidTokens[:movingRows], a.Created.OidTokens[movingRows:]
}

// values returns random values for the attributes by which pages are sorted. Many rows have the same
// values.
func (w *mover) values() string {
	status := []string{`null`, `"StoryStatus:133"`, `"StoryStatus:134"`}[w.rnd.IntN(3)]
	estimate := []string{`null`, `1`, `2.5`, `8`}[w.rnd.IntN(4)]
	return fmt.Sprintf(`"Name": "name %d", "Status": %s, "Estimate": %s`, w.rnd.IntN(40), status, estimate)
}

func (w *mover) story() string {
	return fmt.Sprintf(`{"AssetType": "Story", "Scope": %q, %s}`, w.scope, w.values())
}

// write creates three rows, deletes three rows, and changes and reorders some rows.
func (w *mover) write() string {
	var all []string
	for range 3 {
		gone := w.rnd.IntN(len(w.moving))
		all = append(all, w.story(), fmt.Sprintf(`{"from": %q, "execute": "Delete"}`, w.moving[gone]))
		w.moving = append(w.moving[:gone], w.moving[gone+1:]...)
	}
	for range 6 {
		one, near := w.moving[w.rnd.IntN(len(w.moving))], w.steady[w.rnd.IntN(len(w.steady))]
		all = append(all, fmt.Sprintf(`{"from": %q, "update": {"Order": {"Before": %q}, %s}}`, one, near, w.values()))
	}
	a, problem := w.command("[" + strings.Join(all, ",") + "]")
	w.moving = append(w.moving, a.Created.OidTokens...)
	return problem
}

// pager is the client that reads pages.
type pager struct {
	runner
	rnd    *rand.Rand
	scope  string
	steady []string
}

func (p *pager) walkAll(turns chan<- bool, ended <-chan string) string {
	for _, order := range orders {
		for range walks {
			if problem := p.walk(order, turns, ended); problem != "" {
				return "sorted by " + order + ": " + problem
			}
		}
	}
	return ""
}

// walk reads all pages. After each page, it lets the writer begin its next write, which runs while walk
// reads the next page. It returns a description of the first problem, or "".
func (p *pager) walk(order string, turns chan<- bool, ended <-chan string) string {
	before, problem := p.ranks()
	if problem != "" {
		return problem
	}
	seen := map[string]int{}
	after, size := "", 5+p.rnd.IntN(60)
	for pages := 1; ; pages++ {
		a, problem := p.command(fmt.Sprintf(`{"from": "Story", "select": ["Name"], "where": {"Scope": %q}, "sort": %s, "page": {"size": %d, "after": %q}}`,
			p.scope, order, size, after))
		if problem != "" {
			return problem
		}
		rows, next := a.Query.Results[0], a.Query.Pages[0].Next
		for _, row := range rows {
			seen[row["_oid"].(string)]++
		}
		if next != nil && len(rows) != size {
			return fmt.Sprintf("page %d has %d rows of %d, and is not the last", pages, len(rows), size)
		}
		if next == nil {
			break
		}
		after = *next
		select {
		case turns <- true:
		case problem := <-ended:
			return "the writer ended: " + problem
		}
	}
	now, problem := p.ranks()
	if problem != "" {
		return problem
	}
	for _, oid := range p.steady {
		if seen[oid] != 1 && now[oid] == before[oid] { // a steady row may also get another rank, to make room
			return fmt.Sprintf("%s came %d times in pages of %d", oid, seen[oid], size)
		}
	}
	return ""
}

// ranks returns the current rank of each row, by Oid.
func (p *pager) ranks() (map[any]any, string) {
	a, problem := p.command(fmt.Sprintf(`{"from": "Story", "select": ["Order"], "where": {"Scope": %q}}`, p.scope))
	if problem != "" {
		return nil, problem
	}
	ranks := map[any]any{}
	for _, row := range a.Query.Results[0] {
		ranks[row["_oid"]] = row["Order"]
	}
	return ranks, ""
}
