package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/store/db"
)

// maxExpected is the largest number of changes of a write that are matched before the write is committed.
const maxExpected = 1000

// Expect reads the enabled subscriptions. It returns a function that counts those that a write will be sent to.
// The function is called in the transaction of the write, with the id of its audit row, its member, and its
// first and last moment. It looks at the first 1,000 changes.
// Spec: interface 4.18.
func (s *Service) Expect(ctx context.Context) (func(ctx context.Context, tx *db.Tx, write, member, first, last int64) (int, error), error) {
	x, err := s.index(ctx, &cache{}, 0)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *db.Tx, write, member, first, last int64) (int, error) {
		if len(x.targets) == 0 || last == 0 {
			return 0, nil
		}
		a := &event.Audit{ID: write, Actor: member, At: time.Now().UnixMicro(), Generation: x.generation}
		query := `SELECT id, moment FROM asset_version WHERE audit_id = ? AND moment BETWEEN ? AND ? ORDER BY moment LIMIT ?`
		all, err := db.Collect(ctx, tx, query, []any{write, first, last, maxExpected}, func(scan db.Scanner) (at change.At, err error) {
			return at, scan.Scan(&at.ID, &at.Moment)
		})
		if err != nil {
			return 0, fmt.Errorf("read the changes of a write: %w", err)
		}
		told := map[*event.Target]bool{}
		for part := range slices.Chunk(all, previewBatch) {
			err := change.InParts(part, func(part []change.At) error { return s.expect(ctx, tx, x, a, part, told) })
			if err != nil {
				return 0, err
			}
		}
		return len(told), nil
	}, nil
}

// expect adds the targets that match some changes to told.
func (s *Service) expect(ctx context.Context, tx *db.Tx, x *index, a *event.Audit, part []change.At, told map[*event.Target]bool) error {
	in := x.In(tx)
	versions, release, err := versionsAt(ctx, tx, in, part)
	defer release()
	if err != nil {
		return err
	}
	events, err := in.NewMatcher(s.actors, func(string, int) {}).Match(ctx, map[int64]*event.Audit{a.ID: a}, versions)
	if err != nil {
		return err
	}
	for _, e := range events {
		for _, t := range e.Targets() {
			told[t] = true
		}
	}
	return nil
}
