package spectest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a case waits for events.
const patience = 20 * time.Second

// receiver is what webhooks of one case are sent to.
type receiver struct {
	*httptest.Server
	mu         sync.Mutex
	deliveries []any // {method, headers, body}, as they came
	events     []any
	seen       map[string]bool // by sequenceId and type: a repeated delivery counts once
	arrived    chan struct{}   // holds one signal when something came
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{seen: map[string]bool{}, arrived: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := decode(text)
	if err != nil {
		body = string(text)
	}
	headers := map[string]any{}
	for name, values := range req.Header {
		headers[name] = strings.Join(values, ", ")
	}
	r.record(map[string]any{"method": req.Method, "headers": headers, "body": body}, body)
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

func (r *receiver) record(delivery, body any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries = append(r.deliveries, delivery)
	object, _ := body.(map[string]any)
	events, _ := object["events"].([]any)
	for _, e := range events {
		event, _ := e.(map[string]any)
		key := show(event["sequenceId"]) + show(event["eventType"]) + show(event["webhookId"])
		if !r.seen[key] {
			r.seen[key] = true
			r.events = append(r.events, e)
		}
	}
	slices.SortStableFunc(r.events, func(a, b any) int { return sequence(a) - sequence(b) })
}

func sequence(event any) int {
	e, _ := event.(map[string]any)
	n, _ := e["sequenceId"].(json.Number)
	i, _ := n.Int64()
	return int(i)
}

// wait returns a copy of what from names once it has n elements, or what it
// has when patience ends.
func (r *receiver) wait(n int, from *[]any) []any {
	end := time.After(patience)
	for {
		r.mu.Lock()
		got := slices.Clone(*from)
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-r.arrived:
		case <-end:
			return got
		}
	}
}
