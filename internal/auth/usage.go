package auth

import (
	"context"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/db"
)

const (
	usedEvery   = time.Minute     // precision of the last use of a token
	usedTimeout = 5 * time.Second // of one write
	maxPending  = 1_000           // uses that are not written yet
)

// usageRecorder writes when access tokens were last used, at most once a minute
// for each, in the background and one after the other: no request waits for a
// write or fails by it, and what cannot be written is dropped.
type usageRecorder struct {
	store  *db.DB
	recent *cache[string, struct{}] // ids recorded in the last minute

	mu      sync.Mutex
	pending []use
	writing bool
	writers sync.WaitGroup
}

type use struct {
	id string
	at time.Time
}

func newUsageRecorder(store *db.DB, now func() time.Time) *usageRecorder {
	return &usageRecorder{store: store, recent: newCache[string, struct{}](maxCredentials, usedEvery, now)}
}

// record records the use of a token; last is the last use in the database.
func (u *usageRecorder) record(id string, last, at time.Time) {
	if _, ok := u.recent.get(id); ok || at.Sub(last) < usedEvery {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pending) >= maxPending {
		return
	}
	u.recent.put(id, struct{}{}, at)
	u.pending = append(u.pending, use{id, at})
	if !u.writing {
		u.writing = true
		u.writers.Go(u.write)
	}
}

// write writes until nothing is pending.
func (u *usageRecorder) write() {
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
