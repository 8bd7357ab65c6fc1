package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"
)

// receiver counts arriving events and answers 200. It also records bodies and the arrival
// times of changes by the name of their story.
type receiver struct {
	url    string
	server *http.Server
	events atomic.Int64
	posts  atomic.Int64
	last   atomic.Int64 // arrival of the newest request, in ns since 1970

	timed bool // true: record when each event arrived; every body is then searched for its events

	mu        sync.Mutex
	bodies    [][]byte // at most maxBodies
	maxBodies int
	arrived   map[string]time.Time // key: name of a story; value: arrival of its first event
}

var (
	eventMark = []byte(`"sequenceId":`)
	nameMark  = regexp.MustCompile(`"new":"(at \d+)"`)
)

// newReceiver starts a receiver. If answer is not nil, it replaces the handler that records
// and answers 200. If timed is true, the receiver records the arrival of each change by the name
// of its story.
func newReceiver(answer http.HandlerFunc, timed bool) (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + l.Addr().String(), arrived: map[string]time.Time{}, timed: timed}
	if answer == nil {
		answer = r.record
	}
	r.server = &http.Server{Handler: answer, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

func (r *receiver) record(_ http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	now := time.Now()
	r.mu.Lock()
	if len(r.bodies) < r.maxBodies {
		r.bodies = append(r.bodies, body)
	}
	if r.timed {
		r.keep(body, now)
	}
	r.mu.Unlock()
	r.posts.Add(1)
	r.last.Store(now.UnixNano())
	r.events.Add(int64(bytes.Count(body, eventMark)))
}

// keep records the arrival of the stories that a body names. now is the time of the arrival. A story
// that has arrived before keeps its first time. The caller holds r.mu.
func (r *receiver) keep(body []byte, now time.Time) {
	for _, m := range nameMark.FindAllSubmatch(body, -1) {
		if _, again := r.arrived[string(m[1])]; !again {
			r.arrived[string(m[1])] = now
		}
	}
}

// reset discards all records. From now on it records at most maxBodies bodies.
func (r *receiver) reset(maxBodies int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.maxBodies, r.arrived = nil, maxBodies, map[string]time.Time{}
	r.events.Store(0)
	r.posts.Store(0)
}

// await waits for a number of events and returns the arrival of the last one. After two
// minutes it returns false.
func (r *receiver) await(events int64) (time.Time, bool) {
	for end := time.Now().Add(2 * time.Minute); r.events.Load() < events; {
		if time.Now().After(end) {
			return time.Time{}, false
		}
		time.Sleep(time.Millisecond)
	}
	return time.Unix(0, r.last.Load()), true
}
