package faulttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

const (
	writes      = 240                   // steady writes of the test
	writeEvery  = 25 * time.Millisecond // so that they go on over all faults
	slowness    = 40 * time.Millisecond // of the receiver, so that deliveries are on their way when the worker dies
	allArriveIn = 40 * time.Second      // after the last write
)

// receiver collects the names of the stories it is told of.
type receiver struct {
	mu    sync.Mutex
	names map[string]int // how often each came
	grew  chan struct{}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Events []struct {
			Snapshot []struct{ Name string } `json:"snapshot"`
		} `json:"events"`
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(slowness):
	case <-req.Context().Done():
		return
	}
	r.mu.Lock()
	for _, e := range body.Events {
		for _, row := range e.Snapshot {
			r.names[row.Name]++
		}
	}
	r.mu.Unlock()
	select {
	case r.grew <- struct{}{}:
	default:
	}
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.names)
}

// waitFor waits until n different stories were told of, or the time is over.
func (r *receiver) waitFor(n int, within time.Duration) {
	end := time.After(within)
	for r.count() < n {
		select {
		case <-r.grew:
		case <-end:
			return
		}
	}
}

// TestEventsOutliveWorkerAndRedis writes steadily while the worker is killed
// twice and Redis is emptied twice, once together.
func TestEventsOutliveWorkerAndRedis(t *testing.T) {
	s := newSite(t)
	s.startAPI()
	s.start("scheduler")
	worker := s.start("worker")
	r := &receiver{names: map[string]int{}, grew: make(chan struct{}, 1)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	project := s.project("faults")
	var subscription struct{ ID string }
	s.mustPost("/api/webhook", map[string]any{
		"webhookId": "faults", "url": server.URL, "enabled": true,
		"eventTypes": []any{map[string]any{
			"type": "AssetCreated", "from": "Story", "filter": []string{"Scope='" + project + "'"}, "select": []string{"Name"},
		}},
	}, &subscription)

	faults := map[int]func(){
		writes / 4:     func() { worker.kill() },
		writes / 3:     func() { worker = s.start("worker") },
		writes / 2:     func() { s.emptyRedis() },
		writes * 3 / 4: func() { worker.kill(); s.emptyRedis() },
	}
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for i := range writes {
		if fault := faults[i]; fault != nil {
			fault()
		}
		var b bulk
		s.mustPost("/api/asset", map[string]any{"AssetType": "Story", "Name": fmt.Sprintf("story %d", i), "Scope": project}, &b)
		if b.CommandFailures.Count != 0 {
			t.Fatalf("write %d failed", i)
		}
		<-tick.C
	}
	last := time.Now()
	s.start("worker")
	r.waitFor(writes, allArriveIn)
	t.Logf("%d of %d stories were told of, the last %v after the last write", r.count(), writes, time.Since(last).Round(time.Millisecond))
	if got := r.count(); got != writes {
		t.Errorf("%d of %d events arrived within %v", got, writes, allArriveIn)
	}
	again := 0
	for _, times := range r.names {
		again += times - 1
	}
	t.Logf("%d events came more than once", again)
	s.sound()
}
