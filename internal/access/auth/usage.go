package auth

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

const (
	usedEvery   = time.Minute     // precision of the last use of a token
	usedTimeout = 5 * time.Second // of one write
	maxPending  = 1_000           // uses that are not written yet
	maxMoves    = 3               // new addresses of a token in a minute that are written at once
)

// usageRecorder writes when access tokens were last used, and from where: once a
// minute for each, and at once when it comes from another address, but so few times
// that who alternates between addresses causes no write per request. It writes in the
// background and one after the other: no request waits for a write or fails by it, and
// what cannot be written is dropped.
type usageRecorder struct {
	store  *db.DB
	recent *cache[string, recentUse] // by id

	mu      sync.Mutex
	pending []use
	writing bool
	writers sync.WaitGroup
}

type use struct {
	id, address string
	at          time.Time
}

// recentUse is what this process has written of a token in a minute.
type recentUse struct {
	address string    // the last one
	moves   int       // addresses after the first
	since   time.Time // when the minute began
}

func newUsageRecorder(store *db.DB, now func() time.Time) *usageRecorder {
	return &usageRecorder{store: store, recent: newCache[string, recentUse](maxCredentials, usedEvery, now)}
}

// record records the use of a token, as the database has it, from an address; empty:
// not known. The text may alias a buffer that is reused later.
func (u *usageRecorder) record(t cachedToken, address string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r, due := u.next(t, address, at)
	if !due || len(u.pending) >= maxPending {
		return
	}
	r.address = strings.Clone(r.address)
	u.recent.put(t.id, r, r.since)
	u.pending = append(u.pending, use{t.id, r.address, at})
	if !u.writing {
		u.writing = true
		u.writers.Go(u.write)
	}
}

// next returns what is known of a token with a use, and whether that is to be written.
func (u *usageRecorder) next(t cachedToken, address string, at time.Time) (r recentUse, due bool) {
	r, known := u.recent.get(t.id)
	switch {
	case !known && at.Sub(t.lastUsed) >= usedEvery:
		return recentUse{address: cmp.Or(address, t.lastAddress), since: at}, true
	case !known: // another process has written it
		r = recentUse{address: t.lastAddress, since: at}
	}
	if address == "" || address == r.address || r.moves == maxMoves {
		return r, false
	}
	r.address = address
	r.moves++
	return r, true
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
	set := map[string]any{"last_used_at": at}
	if x.address != "" {
		set["last_address"] = x.address
	}
	return store.Write(ctx, func(tx *db.Tx) error {
		return tx.Gorm().Model(&tokenRow{}).Where("id = ? AND COALESCE(last_used_at, 0) < ?", x.id, at).Updates(set).Error
	})
}
