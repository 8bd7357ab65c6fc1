package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// What became of a request that was not answered, in place of a status.
const (
	unsent  = 0 // all connections were busy
	broken  = 1 // the connection ended
	overdue = 2 // the client did not wait any longer
)

// outcome is what became of one request.
type outcome struct {
	due    time.Time
	took   time.Duration // from when it was due to its answer
	sort   int
	status int // of the answer, or one of the above
	right  bool
}

// sending is a request on its way to a connection.
type sending struct {
	outcome

	request []byte
}

// clients is how many addresses the connections come from.
const clients = 8

// load sends requests.
type load struct {
	o        options
	addr     string
	requests *requests
	idle     atomic.Int64 // connections
	due      chan sending
	workers  sync.WaitGroup

	mu  sync.Mutex
	all []outcome
}

func newLoad(r *requests, addr string, o options) *load {
	l := &load{o: o, addr: addr, requests: r, due: make(chan sending, o.conns)}
	l.idle.Store(int64(o.conns))
	for i := range o.conns {
		l.workers.Go(func() { l.work("127.0.0." + strconv.Itoa(1+i%clients)) })
	}
	return l
}

func (l *load) close() {
	close(l.due)
	l.workers.Wait()
}

// work sends requests on one connection, opened anew when it has ended.
func (l *load) work(from string) {
	var c *rig.Conn
	for one := range l.due {
		if c == nil {
			c, _ = rig.DialFrom(from, l.addr)
		}
		if one.status = broken; c != nil {
			one.ask(c, l.o.timeout)
		}
		one.took = time.Since(one.due)
		l.keep(one.outcome)
		if c != nil && (c.Ended || one.status == broken || one.status == overdue) {
			_ = c.Close()
			c = nil
		}
		l.idle.Add(1)
	}
	if c != nil {
		_ = c.Close()
	}
}

// ask sends the request and notes what became of it.
func (s *sending) ask(c *rig.Conn, timeout time.Duration) {
	_ = c.SetDeadline(time.Now().Add(timeout))
	status, body, err := c.Do(s.request)
	if err == nil {
		s.status, s.right = status, mix[s.sort].isRight(status, body)
		return
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		s.status = overdue
	}
}

func (l *load) keep(o outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, o)
}

// offer offers a rate for a while: each request at a time of its own, as from
// many clients who know nothing of each other.
func (l *load) offer(ctx context.Context, rate float64, d time.Duration) error {
	began := time.Now()
	for at := time.Duration(0); ; at += time.Duration(rand.ExpFloat64() / rate * float64(time.Second)) {
		if at >= d {
			return ctx.Err()
		}
		if early := at - time.Since(began); early > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(max(early, time.Millisecond)): // a few at a time, where the rate is high
			}
		}
		l.send(began.Add(at))
	}
}

// send hands a request to a connection that is idle.
func (l *load) send(due time.Time) {
	of, request := l.requests.pick()
	one := sending{outcome{due: due, sort: of}, request}
	if l.idle.Add(-1) < 0 {
		l.idle.Add(1)
		l.keep(one.outcome)
		return
	}
	l.due <- one
}

// settle waits until every request is answered or given up.
func (l *load) settle() {
	for l.idle.Load() < int64(l.o.conns) {
		time.Sleep(10 * time.Millisecond)
	}
}

// take returns what became of the requests since it was called the last time.
func (l *load) take() []outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}
