package webhook

import (
	"context"
	"database/sql"

	"github.com/alds-dev/alds/internal/store/db"
)

// FanOutState is the state of the fan-out of an audit.
type FanOutState struct {
	Audit    int64
	Versions int64 // number of versions that the write made
	Done     bool
	SetAside bool   // true: the fan-out failed, and is not tried again
	Error    string // error of the last failed attempt; empty: no attempt failed
}

// FanOutStates returns the states of at most db.MaxIn audits, in any order. Audits that do not
// exist are not in the result.
func (w *Worker) FanOutStates(ctx context.Context, audits []int64) (all []FanOutState, err error) {
	in, args := db.InArgs(audits)
	err = db.Each(ctx, w.db, "SELECT id, last_moment - first_moment + 1, fan_state, fan_error FROM audit WHERE id IN "+in, args, func(row db.Scanner) error {
		var s FanOutState
		var state int
		var text sql.NullString
		err := row.Scan(&s.Audit, &s.Versions, &state, &text)
		s.Done, s.SetAside, s.Error = state == 1, state == 2, text.String
		all = append(all, s)
		return err
	})
	return all, err
}
