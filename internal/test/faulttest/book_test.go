package faulttest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// changes has the moments of changes, by the Oid of the asset.
type changes map[string]map[int64]bool

// book is a webhook receiver that counts how often each event has arrived.
type book struct {
	url string

	mu    sync.Mutex
	times map[string]map[int64]int // by asset, then by sequenceId: how often the event arrived
	first map[string]map[int64]time.Time
	last  time.Time     // when an event last arrived for the first time
	came  int           // number of different events
	late  int           // number of events that first arrived after a newer event of the same asset
	held  chan struct{} // if not nil, no request is answered until this channel is closed
	begun chan struct{} // gets a value for every request
}

func newBook(t *testing.T) *book {
	t.Helper()
	b := &book{times: map[string]map[int64]int{}, first: map[string]map[int64]time.Time{}, begun: make(chan struct{}, 1000)}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// hold delays the answers to all requests until release is called.
func (b *book) hold() (release func()) {
	held := make(chan struct{})
	b.mu.Lock()
	b.held = held
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		b.held = nil
		b.mu.Unlock()
		close(held)
	}
}

// ServeHTTP receives a delivery.
func (b *book) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Events []struct {
			SequenceID  int64 `json:"sequenceId"`
			TargetAsset struct {
				OID string `json:"_oid"`
			} `json:"targetAsset"`
		} `json:"events"`
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	select {
	case b.begun <- struct{}{}:
	default:
	}
	if held != nil {
		select {
		case <-held:
		case <-req.Context().Done():
			return
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range body.Events {
		asset := e.TargetAsset.OID[:strings.LastIndexByte(e.TargetAsset.OID, ':')]
		b.note(asset, e.SequenceID)
	}
}

func (b *book) note(asset string, moment int64) {
	of := b.times[asset]
	if of == nil {
		of = map[int64]int{}
		b.times[asset], b.first[asset] = of, map[int64]time.Time{}
	}
	if of[moment]++; of[moment] > 1 {
		return
	}
	b.came++
	b.last = time.Now()
	b.first[asset][moment] = b.last
	for other := range of {
		if other > moment {
			b.late++
			return
		}
	}
}

// distinct returns the number of different events that have arrived.
func (b *book) distinct() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.came
}

// await waits until n different events have arrived. It returns false if that takes longer than within.
func (b *book) await(n int, within time.Duration) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); b.distinct() < n; <-tick.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// lastNew returns the time at which an event last arrived for the first time.
func (b *book) lastNew() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// cameAt returns when the event of a change first arrived, or the zero time if it has not arrived.
func (b *book) cameAt(asset string, moment int64) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first[asset][moment]
}

// compare compares the events that have arrived with the wanted changes. It returns how many events are
// missing, how many match no wanted change, and how many arrived again.
func (b *book) compare(wanted changes) (missing, surplus, again int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for asset, moments := range wanted {
		for m := range moments {
			if b.times[asset][m] == 0 {
				missing++
			}
		}
	}
	for asset, came := range b.times {
		for m, n := range came {
			if !wanted[asset][m] {
				surplus++
			}
			again += n - 1
		}
	}
	return missing, surplus, again
}
