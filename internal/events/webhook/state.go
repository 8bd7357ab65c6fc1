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
	SetAside bool   // it failed, and is not tried again
	Error    string // of the last failed attempt; empty if none failed
}

// FanOutStates returns the states of at most db.MaxIn audits, in any order. It leaves out audits
// that do not exist.
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
