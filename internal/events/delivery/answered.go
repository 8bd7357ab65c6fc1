package delivery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// answeredEvery is the interval at which the time of the last answer of a healthy
// subscription is written. Each write locks the row of the subscription, and fan-outs and
// claims wait for that lock.
const answeredEvery = time.Second

// answered records when the counters of healthy subscriptions were written, so that not
// every group of results writes them. It has no lock, since only the recorder uses it.
type answered struct {
	written map[string]time.Time // when the counters of a subscription were written, if it is healthy
	later   map[string]int64     // last answers by subscription that are not written yet; UTC microseconds
}

func newAnswered() *answered {
	return &answered{written: map[string]time.Time{}, later: map[string]int64{}}
}

// waits reports whether the counters of a subscription need not be written with a group of
// results. That is so if the results are healthy, no failures are stored, and the counters
// were written less than answeredEvery ago.
func (a *answered) waits(id string, c *counts, now time.Time) bool {
	at, known := a.written[id]
	return c.healthy() && !c.failing && known && now.Sub(at) < answeredEvery
}

// stored records which counters a group of results has written and which it has left for
// later. now is the time of this process. at is the time of the group on the database's
// clock, in UTC microseconds.
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

// due removes and returns the last answers that have to be written now. These are the answers
// of subscriptions whose counters were written at least answeredEvery ago, or all answers if
// all is true. The result lists the subscriptions by the time of their last answer.
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

// storeAnswered writes at as the time of the last answer of subscriptions. A failure is only
// logged: the time is only displayed, and the next answer writes a newer time.
func (s *Sender) storeAnswered(ctx context.Context, at int64, ids []string) {
	slices.Sort(ids) // all transactions lock rows in this order
	for in, args := range db.InChunks(ids) {
		if _, err := s.db.Exec(ctx, "UPDATE webhook_subscription SET last_response_at = ? WHERE id IN "+in+" AND last_response_at < ?",
			append(append([]any{at}, args...), at)...); err != nil {
			s.log.Warn("last answers not stored", "count", len(ids), "err", err)
		}
	}
}
