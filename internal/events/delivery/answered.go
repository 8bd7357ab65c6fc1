package delivery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// answeredEvery is how often the last answer of a healthy subscription is
// written. Each write locks its row, which fan-outs and claims wait for.
const answeredEvery = time.Second

// answered knows when the counters of healthy subscriptions were written, so
// that not every group of results writes them. It belongs to the recorder.
type answered struct {
	written map[string]time.Time // by subscription; while it is healthy
	later   map[string]int64     // last answers that are not written; UTC microseconds
}

func newAnswered() *answered {
	return &answered{written: map[string]time.Time{}, later: map[string]int64{}}
}

// waits reports whether the counters of a subscription need not be written with
// these results: they are those of a healthy one, as is what was written lately.
func (a *answered) waits(id string, c *counts, now time.Time) bool {
	at, known := a.written[id]
	return c.healthy() && !c.failing && known && now.Sub(at) < answeredEvery
}

// stored keeps what a group of results, stored at an instant of the database,
// wrote and left for later.
func (a *answered) stored(all map[string]*counts, now time.Time, at int64) {
	for id, c := range all {
		switch {
		case a.waits(id, c, now):
			a.later[id] = at
		case c.healthy():
			a.written[id] = now
			delete(a.later, id)
		default:
			delete(a.written, id)
			delete(a.later, id)
		}
	}
}

// due returns the subscriptions whose last answers are to be written now, by the time of
// these; with all those that wait, too. It forgets them, and what was written long ago.
func (a *answered) due(now time.Time, all bool) map[int64][]string {
	due := map[int64][]string{}
	maps.DeleteFunc(a.written, func(id string, written time.Time) bool {
		if !all && now.Sub(written) < answeredEvery {
			return false
		}
		if last, ok := a.later[id]; ok {
			due[last] = append(due[last], id)
			delete(a.later, id)
		}
		return true
	})
	return due
}

// storeAnswered writes last answers. What fails is lost: it is only shown, and
// the next answer writes a newer one.
func (s *Sender) storeAnswered(ctx context.Context, at int64, ids []string) {
	slices.Sort(ids) // the order in which they are locked
	for in, args := range db.InChunks(ids) {
		if _, err := s.db.Exec(ctx, "UPDATE webhook_subscription SET last_response_at = ? WHERE id IN "+in+" AND last_response_at < ?",
			append(append([]any{at}, args...), at)...); err != nil {
			s.log.Warn("last answers not stored", "count", len(ids), "err", err)
		}
	}
}
