package find

import (
	"errors"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/query"
)

// effort is what the executors of a query did.
type effort struct {
	rows   int           // of the last: a read that restarts begins anew
	waited time.Duration // for the client
}

func (e *effort) add(x *executor) {
	e.rows = x.handed
	e.waited += x.waited
}

// noteSlow notes a query that is among the slowest, whatever came of it, without the
// time that its client took. One that is restarted by the caller is noted then.
func (f *Finder) noteSlow(r *query.Request, began time.Time, seen effort, err error) {
	if took := time.Since(began) - seen.waited; f.Slowest.Wants(took) && !errors.Is(err, db.ErrSlow) {
		f.Slowest.Note(r.Valueless(), took, seen.rows)
	}
}
