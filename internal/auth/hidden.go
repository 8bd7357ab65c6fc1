package auth

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/db"
)

// maxHidden is the most hidden projects that are remembered; of more, the
// database is asked each time.
const maxHidden = 200

// knownHidden is which projects were hidden when it was read.
type knownHidden struct {
	*Hidden
	changes int64 // of hidden projects by this process before it was read
	at      time.Time
}

// hidden returns which projects are hidden now, like rights at most a second
// old; what this process hid or showed counts at once. It is nil where they are
// too many, or the database does not say: who reads then asks it in passing.
func (s *Service) hidden(ctx context.Context) *Hidden {
	changes := s.hid.Load()
	if h := s.hiddenNow.Load(); h != nil && h.changes == changes && s.now().Sub(h.at) < fresh {
		return h.Hidden
	}
	began := s.now()
	h, err := readHidden(ctx, s.db)
	if err != nil {
		return nil
	}
	s.hiddenNow.Store(&knownHidden{h, changes, began})
	return h
}

// Hid tells that this process committed a write that hid projects or showed
// them again.
func (s *Service) Hid() { s.hid.Add(1) }

// readHidden reads the hidden projects, those that are first; nil for too many.
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
		return nil, nil //nolint:nilnil // too many to know is an answer
	}
	return h, nil
}
