package audit

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// outcomeTries and outcomePause bound how long Outcome waits for the database.
const (
	outcomeTries = 20
	outcomePause = 250 * time.Millisecond
)

// Outcome finds out whether a commit happened if the answer to the commit was lost. lost is the
// error of the commit. Outcome calls l.happened until the database answers. It returns nil if
// the commit happened.
// Errors: fault.Transient if nothing was changed; the error lost if the database does not answer in
// time.
func (l *Log) Outcome(ctx context.Context, member int64, request string, lost error) error {
	var marker int64
	for range outcomeTries {
		var happened bool
		var err error
		if marker == 0 {
			marker, err = l.newMarker(ctx)
		}
		if err == nil {
			happened, err = l.happened(ctx, member, request, marker)
		}
		switch {
		case err == nil && happened:
			return nil
		case err == nil:
			return fault.Transientf(lost, "the connection to the database was lost, and nothing was changed")
		case fault.KindOf(err) != fault.Transient:
			return err
		}
		select {
		case <-ctx.Done():
			return lost
		case <-time.After(outcomePause):
		}
	}
	return lost
}

// newMarker returns an unused id for an audit row.
func (l *Log) newMarker(ctx context.Context) (id int64, err error) {
	err = l.db.Small(ctx, func(tx *db.Tx) (err error) {
		id, err = l.NextID(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// happened reports whether a request was committed. It inserts an empty audit row with the same
// request id and with marker as its id. If the transaction of the request is still open, the
// insert waits until that transaction ends.
//
// If the insert succeeds, the request was not committed. It can never be committed, because its
// request id is now taken. If the insert is refused, another audit row has the request id. If the
// id of that row is not marker, the request was committed. If the id is marker, an earlier call
// of this function inserted the row, and the answer to that call was lost.
func (l *Log) happened(ctx context.Context, member int64, request string, marker int64) (bool, error) {
	err := l.db.Small(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO audit`+
			` (id, request_id, actor_id, at, comment, first_moment, last_moment, generation, fan_state)`+
			` VALUES (?, ?, ?, `+tx.Dialect().NowMicros+`, 'the connection to the database was lost', 0, 0, 0, 1)`,
			marker, request, member)
		return err
	})
	if fault.KindOf(err) != fault.Conflict {
		return false, err
	}
	var id int64
	err = l.db.One(ctx, func(q db.Querier) error {
		return q.QueryRow(ctx, `SELECT id FROM audit WHERE request_id = ?`, request).Scan(&id)
	})
	return id != marker, err
}
