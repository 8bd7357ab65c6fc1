package auth

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// maxHidden is the maximum number of hidden projects that are cached.
const maxHidden = 200

// cachedHidden has the hidden projects of one read.
type cachedHidden struct {
	*Hidden
	changes int64     // value of Service.hiddenChanges before the read
	at      time.Time // when the read began
}

// hidden returns the hidden projects. The data may be maxAge old, but it includes all changes by
// this process. The result is nil if there are too many hidden projects or if the read fails.
// Queries then read the projects from the database.
func (s *Service) hidden(ctx context.Context) *Hidden {
	changes := s.hiddenChanges.Load()
	if h := s.hiddenNow.Load(); h != nil && h.changes == changes && s.now().Sub(h.at) < maxAge {
		return h.Hidden
	}
	began := s.now()
	h, err := readHidden(ctx, s.db)
	if err != nil {
		return nil
	}
	s.hiddenNow.Store(&cachedHidden{h, changes, began})
	return h
}

// ScopesHidden must be called after this process has committed a write that hides projects or
// shows them again.
func (s *Service) ScopesHidden() { s.hiddenChanges.Add(1) }

// readHidden reads the hidden projects. It returns nil if more than maxHidden are hidden now.
func readHidden(ctx context.Context, q db.Querier) (*Hidden, error) {
	h := &Hidden{}
	err := db.Each(ctx, q, `SELECT scope_id, until_moment FROM scope_hidden ORDER BY until_moment DESC, scope_id LIMIT ?`,
		[]any{maxHidden + 1}, func(row db.Scanner) error {
			var scope, until int64
			err := row.Scan(&scope, &until)
			if h.Ever = true; until == db.Forever {
				h.Now = append(h.Now, scope)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	if len(h.Now) > maxHidden {
		return nil, nil //nolint:nilnil // nil means too many
	}
	return h, nil
}
