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

// Values of status for a request without an answer.
const (
	unsent  = 0 // no connection was free
	broken  = 1 // the connection was closed
	overdue = 2 // the client stopped waiting
)

// outcome is the result of one request.
type outcome struct {
	due    time.Time
	took   time.Duration // from due to the answer
	sort   int
	status int // status of the answer, or one of the constants above
	right  bool
}

// sending is a request to be sent on a connection.
type sending struct {
	outcome

	request []byte
}

// clients is the number of local addresses of the connections.
const clients = 8

// load sends requests.
type load struct {
	o        options
	addr     string
	requests *requests
	idle     atomic.Int64 // free connections
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

// work sends requests on one connection. It opens a new one after the connection has ended.
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

// ask sends the request and sets its outcome.
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

// offer sends requests at a rate for a duration. Their times are random and independent of
// each other, as with many separate clients.
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
			case <-time.After(max(early, time.Millisecond)): // at a high rate, several requests are due after one wait
			}
		}
		l.send(began.Add(at))
	}
}

// send passes a request to a free connection.
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

// settle waits until every request has an outcome.
func (l *load) settle() {
	for l.idle.Load() < int64(l.o.conns) {
		time.Sleep(10 * time.Millisecond)
	}
}

// take returns the outcomes since the last call.
func (l *load) take() []outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}
