package spectest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// eventTimeout is how long a case waits for events or deliveries.
const eventTimeout = 2 * time.Minute

// receiver receives the deliveries of webhooks for one case.
type receiver struct {
	*httptest.Server
	mu         sync.Mutex
	deliveries []any // {method, path, headers, body}, in the order of arrival
	raw        []signed
	asked      map[string]int // number of requests, by path
	events     []any
	seen       map[string]bool // events by sequenceId, type and webhook: a repeated event does not count again
	arrived    chan struct{}   // gets a signal when a request has arrived
}

// signed is a delivery as it arrived, so that its signatures can be checked.
type signed struct {
	header http.Header
	body   []byte
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{asked: map[string]int{}, seen: map[string]bool{}, arrived: make(chan struct{}, 1)}
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
	status := r.record(req, map[string]any{"method": req.Method, "path": req.URL.Path, "headers": headers, "body": body}, text, body)
	if status != http.StatusOK {
		w.Header().Set("X-Answer", strconv.Itoa(status))
		w.Header().Set("Location", r.URL+"/elsewhere")
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_, _ = w.Write([]byte("answer " + strconv.Itoa(status))) // if the sender is gone, another check fails
		}
	}
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// record stores a delivery and returns the status with which the receiver must answer.
func (r *receiver) record(req *http.Request, delivery any, text []byte, body any) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries = append(r.deliveries, delivery)
	r.raw = append(r.raw, signed{req.Header, text})
	status := answerTo(req.URL.Path, r.asked[req.URL.Path])
	r.asked[req.URL.Path]++
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
	return status
}

// answerTo returns the status for request n to a path, where the first request is 0. The path
// /answers/500,410 has a list of statuses in their order. The last of them is for all further requests.
// Other paths get 200.
func answerTo(path string, n int) int {
	list, ok := strings.CutPrefix(path, "/answers/")
	if !ok {
		return http.StatusOK
	}
	all := strings.Split(list, ",")
	status, err := strconv.Atoi(all[min(n, len(all)-1)])
	if err != nil {
		return http.StatusNotFound
	}
	return status
}

// expectSigned checks the signatures of all deliveries so far, with the library that is published for
// receivers. text has a list of secrets for each delivery. A delivery must have exactly one signature for
// each of its secrets.
func (r *receiver) expectSigned(text string) string {
	var want [][]string
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		return fmt.Sprintf("the case's own JSON: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(want) != len(r.raw) {
		return fmt.Sprintf("want %d deliveries, got %d", len(want), len(r.raw))
	}
	for i, secrets := range want {
		got := r.raw[i]
		signatures := strings.Fields(got.header.Get("Webhook-Signature"))
		if len(signatures) != len(secrets) {
			return fmt.Sprintf("delivery %d: want %d signatures, got %q", i, len(secrets), signatures)
		}
		for k, secret := range secrets {
			hook, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				return fmt.Sprintf("the case's own secret: %v", err)
			}
			alone := got.header.Clone()
			alone.Set("Webhook-Signature", signatures[k])
			if err := hook.Verify(got.body, alone); err != nil {
				return fmt.Sprintf("delivery %d, signature %d: %v", i, k, err)
			}
			if hook.Verify(append([]byte(" "), got.body...), alone) == nil {
				return fmt.Sprintf("delivery %d, signature %d: it is good for another body", i, k)
			}
		}
	}
	return ""
}

func sequence(event any) int {
	e, _ := event.(map[string]any)
	n, _ := e["sequenceId"].(json.Number)
	i, _ := n.Int64()
	return int(i)
}

// wait waits until the list *from has at least n elements, but at most for eventTimeout. It returns a copy
// of the list.
func (r *receiver) wait(n int, from *[]any) []any {
	end := time.After(eventTimeout)
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
