package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// object is a JSON object to send.
type object = map[string]any

// answer is the answer to a request. Its status is 0 if there was no answer.
type answer struct {
	status int
	text   []byte
	bulk   bulk
}

// bulk is the part of the answer to a bulk request that the tests read.
type bulk struct {
	RequestID     string `json:"requestId"`
	AssetsCreated struct {
		OIDTokens []string `json:"oidTokens"`
	} `json:"assetsCreated"`
	CommandFailures struct {
		Count int `json:"count"`
	} `json:"commandFailures"`
}

// done reports whether all commands of the request succeeded.
func (a answer) done() bool { return a.status == http.StatusOK && a.bulk.CommandFailures.Count == 0 }

// later reports whether the same request may be sent again. That is so if there was no answer, for 503, and
// for 409, the answer to a race of two requests.
func (a answer) later() bool {
	return a.status == 0 || a.status == http.StatusServiceUnavailable || a.status == http.StatusConflict
}

// unknown reports whether the answer does not show if the request was executed.
func (a answer) unknown() bool {
	return a.status == 0 || a.status == http.StatusServiceUnavailable && bytes.Contains(a.text, []byte("outcome of the request is not known"))
}

// send posts a body to the api with the index i. key is the Idempotency-Key; empty: none.
func (s *site) send(i int, path, key string, body any) (a answer) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answersIn)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base[i]+path, bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	req.SetBasicAuth("admin", adminPassword)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		a.text, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		a.status = res.StatusCode
	}
	if err != nil {
		a.status, a.text = 0, []byte(err.Error())
	}
	if a.status == http.StatusOK && strings.HasPrefix(path, "/api/asset") {
		_ = json.Unmarshal(a.text, &a.bulk) // answers of other requests have other fields
	}
	s.note(path, a)
	return a
}

// answersIn is how long send waits for an answer. The service gives up earlier.
const answersIn = 2 * time.Minute

// expected are the statuses that the interface allows for the requests of these tests.
var expected = []int{http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable}

// note counts an answer by its status. If the status is not in expected, it also keeps the answer as an
// error.
func (s *site) note(path string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[a.status]++
	if !slices.Contains(expected, a.status) {
		s.bad = append(s.bad, fmt.Sprintf("POST %s was answered %d: %.400s", path, a.status, a.text))
	}
}

// shown is how many similar errors are printed.
const shown = 5

func (s *site) judgeStatuses() {
	s.t.Helper()
	var all []string
	for _, status := range slices.Sorted(maps.Keys(s.statuses)) {
		all = append(all, fmt.Sprintf("%d: %d", status, s.statuses[status]))
	}
	s.t.Logf("answers by status: %s", strings.Join(all, ", "))
	s.wrong(len(s.bad), "answers have a status that should not be: %s", strings.Join(s.bad[:min(shown, len(s.bad))], "\n"))
}

// wrong fails the test if n, a number of errors, is not 0.
func (s *site) wrong(n int, format string, args ...any) {
	s.t.Helper()
	if n != 0 {
		s.t.Errorf("%d "+format, append([]any{n}, args...)...)
	}
}

// patiently repeats a request until the answer is final, or until quietIn has passed. An answer is final if
// the request may not be sent again.
func (s *site) patiently(i int, path string, body any) (a answer) {
	for until := time.Now().Add(quietIn); ; time.Sleep(20 * time.Millisecond) {
		if a = s.send(i, path, "", body); !a.later() || time.Now().After(until) {
			return a
		}
	}
}

// must sends commands to the first api and returns the Oids of the created assets. All commands must
// succeed.
func (s *site) must(commands any) []string {
	s.t.Helper()
	a := s.patiently(0, "/api/asset", commands)
	if !a.done() {
		s.t.Fatalf("%d: %.400s", a.status, a.text)
	}
	return a.bulk.AssetsCreated.OIDTokens
}

// read sends a query to the api with the index i, and returns the rows.
func read[T any](s *site, i int, query object) []T {
	s.t.Helper()
	a := s.patiently(i, "/query.v1", query)
	var sets [][]T
	if err := json.Unmarshal(a.text, &sets); a.status != http.StatusOK || err != nil {
		s.t.Fatalf("%v: %d, %v: %.400s", query, a.status, err, a.text)
	}
	return sets[0]
}

// both calls run for each api at the same time, and waits for both calls.
func both(run func(i int)) {
	var wait sync.WaitGroup
	for i := range apis {
		wait.Go(func() { run(i) })
	}
	wait.Wait()
}

// rounds calls run at most n times, and begins no call after the duration of a case has passed. It returns
// the number of calls.
func rounds(n int, run func(k int)) (k int) {
	for end := time.Now().Add(lasting()); k < n && time.Now().Before(end); k++ {
		run(k)
	}
	return k
}

// projects creates n projects below Scope:0.
func (s *site) projects(n int) []string {
	s.t.Helper()
	all := make([]any, n)
	for i := range all {
		all[i] = object{"AssetType": "Scope", "Name": fmt.Sprint("Project ", i), "Parent": "Scope:0", "BeginDate": "2026-01-01"}
	}
	return s.must(all)
}

// change returns a command that changes an asset.
func change(oid string, values object) object { return object{"from": oid, "update": values} }
