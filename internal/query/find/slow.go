package find

import (
	"errors"
	"time"

	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// effort is the work that the executors of a query did.
type effort struct {
	rows   int           // rows of the last executor, because a read that restarts begins again
	waited time.Duration // how long the executors have waited for the client
}

func (e *effort) add(x *executor) {
	e.rows = x.handed
	e.waited += x.waited
}

// noteSlow records a query that is among the slowest, even if it failed. The recorded time does not
// include the time that the client took to read the answer. A query that the caller restarts is
// recorded only after the restart.
func (f *Finder) noteSlow(r *query.Request, began time.Time, seen effort, err error) {
	if took := time.Since(began) - seen.waited; f.Slowest.Wants(took) && !errors.Is(err, db.ErrSlow) {
		f.Slowest.Note(r.Valueless(), took, seen.rows)
	}
}
