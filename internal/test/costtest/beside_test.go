package costtest

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// secondMember is the username of a member who reads and writes while the service executes a request of
// another member.
const secondMember = "beside"

// waited has the work that the process did while the second member waited for answers: during the one read,
// and the most during one of the writes.
type waited struct {
	write  int64  // while one write waited: most thousand instructions of SQLite in write transactions, its own included
	turns  int64  // while one write waited: most writes of other members
	read   int64  // thousand instructions of SQLite during the read
	wrong  string // the last wrong answer; empty: all answers were right
	writes int    // number of writes that were sent
}

const (
	besideWrites = 3 // most writes for each request
	besideEvery  = 2 * time.Millisecond
)

// beside sends requests as the second member until the request of the other member ends. It reads once.
// Then it writes whenever it finds an open write transaction of another member.
func (s *service) beside(ctx context.Context, ended <-chan struct{}) (w waited) {
	o := s.w.besideStory
	read := &request{who: secondMember, method: "GET", path: "/rest-1.v1/Data/Story/" + o.key, params: dict{{"sel", word("Name")}}}
	write := post("/api/asset", asJSON, dict{{"from", word(o.oid)}, {"update", dict{{"Reference", word("x")}}}})
	write.who = secondMember
	ticker := time.NewTicker(besideEvery)
	defer ticker.Stop()
	for first := true; w.writes < besideWrites; {
		select {
		case <-ended:
			return w
		case <-ctx.Done():
			return w
		case <-ticker.C:
		}
		now, err := s.looked(ctx, peeking)
		if err != nil {
			return w
		}
		if first {
			first = false
			if done, ok := s.waits(ctx, read, now, &w); ok {
				w.read = done.Steps
			}
			continue
		}
		if !now.Writing {
			continue
		}
		w.writes++
		text := word(fmt.Sprint(now.Steps, w.writes)) // each write has a different text
		write.body = dict{{"from", word(o.oid)}, {"update", dict{{"Reference", text}}}}
		if done, ok := s.waits(ctx, write, now, &w); ok {
			w.write, w.turns = max(w.write, done.TurnSteps), max(w.turns, done.Turns-1)
		}
	}
	return w
}

// waits sends a request as the second member and returns the work that the process did until the answer.
func (s *service) waits(ctx context.Context, r *request, before counts, w *waited) (counts, bool) {
	status, answer, _, err := s.answer(ctx, r)
	after, failed := s.looked(ctx, peeking)
	if err != nil || failed != nil { // the process has ended, and the request of the other member reports that
		return counts{}, false
	}
	// A 503 is not counted as wrong, because it only shows that the request took too long on this machine.
	if status == http.StatusInternalServerError || status == http.StatusTooManyRequests {
		w.wrong = fmt.Sprintf("another member's %s was answered %d %.200s", r.method, status, answer)
	}
	return after.since(before), true
}
