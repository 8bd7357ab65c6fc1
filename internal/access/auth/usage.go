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
	usedTimeout = 5 * time.Second // time limit of one write
	maxPending  = 1_000           // maximum number of uses that wait to be written
	maxMoves    = 3               // maximum number of new addresses of a token per minute that are written at once
)

// usageRecorder stores the time and the address of the last use of each access token. It writes
// once per minute and token. A use from a new address is written at once, but at most maxMoves
// times per minute: a client that alternates between addresses must not cause a write per
// request.
//
// A background goroutine writes one use after the other. No request waits for a write, and no
// request fails because of a write. A use that cannot be written is dropped.
type usageRecorder struct {
	store  *db.DB
	recent *cache[string, recentUse] // key: id of a token

	mu      sync.Mutex
	pending []use
	writing bool
	writers sync.WaitGroup
}

type use struct {
	id, address string
	at          time.Time
}

// recentUse has the uses of a token that this process has written within a minute.
type recentUse struct {
	address string    // the last address
	moves   int       // number of addresses after the first
	since   time.Time // when the minute began
}

func newUsageRecorder(store *db.DB, now func() time.Time) *usageRecorder {
	return &usageRecorder{store: store, recent: newCache[string, recentUse](maxCredentials, usedEvery, now)}
}

// record records a use of a token. t is the token as it was read from the database. address is empty
// if the address is unknown. The caller may reuse the memory of address afterwards.
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

// next returns the recent uses of a token, including a new use. due is true if the new use must be
// written.
func (u *usageRecorder) next(t cachedToken, address string, at time.Time) (r recentUse, due bool) {
	r, known := u.recent.get(t.id)
	switch {
	case !known && at.Sub(t.lastUsed) >= usedEvery:
		return recentUse{address: cmp.Or(address, t.lastAddress), since: at}, true
	case !known: // another process has written a use in this minute
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
			_ = writeUse(u.store, x) // if this fails, the next write for the token is a minute later
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
