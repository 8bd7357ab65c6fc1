package delivery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// answeredEvery is the minimum interval between two writes of the time of the last answer, for a
// healthy subscription. Each write locks the row of the subscription. Fan-outs and claims have to
// wait for that lock.
const answeredEvery = time.Second

// answered records when the counters of healthy subscriptions were written, so that they are not
// written with every group of results. It has no lock, because only the recorder uses it.
type answered struct {
	written map[string]time.Time // by subscription, only if it is healthy: when its counters were written
	later   map[string]int64     // by subscription: time of the last answer, if it is not written yet; UTC microseconds
}

func newAnswered() *answered {
	return &answered{written: map[string]time.Time{}, later: map[string]int64{}}
}

// waits reports whether a group of results can leave the counters of a subscription unwritten for
// now. This is the case if the results are healthy (see counts.healthy), no failures are stored,
// and the counters were written less than answeredEvery ago.
func (a *answered) waits(id string, c *counts, now time.Time) bool {
	at, known := a.written[id]
	return c.healthy() && !c.failing && known && now.Sub(at) < answeredEvery
}

// stored records which counters a group of results has written, and which counters must be written
// later. The parameter now is the time on the clock of this process. The parameter at is the time
// of the group on the clock of the database, in UTC microseconds.
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

// due removes and returns the last answers that must be written now. These are the answers of
// subscriptions whose counters were written at least answeredEvery ago. If all is true, due returns
// the last answers of all subscriptions. The keys of the result are the times of last answers. The
// values are the ids of the subscriptions with this time.
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

// storeAnswered writes the time of the last answer of subscriptions. The parameter at is this time,
// and ids are the subscriptions. storeAnswered only logs an error, because the time is used only
// for display, and the next answer writes a newer time.
func (s *Sender) storeAnswered(ctx context.Context, at int64, ids []string) {
	slices.Sort(ids) // all transactions lock rows in this order
	for in, args := range db.InChunks(ids) {
		if _, err := s.db.Exec(ctx, "UPDATE webhook_subscription SET last_response_at = ? WHERE id IN "+in+" AND last_response_at < ?",
			append(append([]any{at}, args...), at)...); err != nil {
			s.log.Warn("last answers not stored", "count", len(ids), "err", err)
		}
	}
}
