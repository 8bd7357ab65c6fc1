package auth

import (
	"context"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/db"
)

const (
	usedEvery   = time.Minute     // how exactly it is kept when a token was last used
	usedTimeout = 5 * time.Second // for one write of it
	maxUses     = 1_000           // uses that wait to be written
)

// uses keeps when access tokens were last used, at most once a minute for each.
// It is written behind the requests, one token after the other: no request
// waits for it or fails by it, and what cannot be written is dropped.
type uses struct {
	store *db.DB
	noted *recent[string, struct{}] // ids of less than a minute ago

	mu      sync.Mutex
	pending []use
	writing bool
	writers sync.WaitGroup
}

type use struct {
	id string
	at time.Time
}

func newUses(store *db.DB, now func() time.Time) *uses {
	return &uses{store: store, noted: newRecent[string, struct{}](maxCredentials, usedEvery, now)}
}

// note takes down that the token with this id was used; the database says last.
func (u *uses) note(id string, last, at time.Time) {
	if _, ok := u.noted.get(id); ok || at.Sub(last) < usedEvery {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pending) >= maxUses {
		return
	}
	u.noted.put(id, struct{}{}, at)
	u.pending = append(u.pending, use{id, at})
	if !u.writing {
		u.writing = true
		u.writers.Go(u.write)
	}
}

// write writes until nothing waits.
func (u *uses) write() {
	for {
		u.mu.Lock()
		batch := u.pending
		u.pending = nil
		u.writing = len(batch) > 0
		u.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, x := range batch {
			_ = writeUse(u.store, x) // the next use in a minute tries again
		}
	}
}

func writeUse(store *db.DB, x use) error {
	ctx, cancel := context.WithTimeout(context.Background(), usedTimeout)
	defer cancel()
	at := x.at.UnixMicro()
	return store.Write(ctx, func(tx *db.Tx) error {
		return tx.Gorm().Model(&tokenRow{}).Where("id = ? AND COALESCE(last_used_at, 0) < ?", x.id, at).Update("last_used_at", at).Error
	})
}
