package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Settings of the readiness probes. They are typical of load balancers in clouds.
const (
	probeEvery   = time.Second
	probeTimeout = time.Second
	fall         = 3 // consecutive failed probes after which a target gets no requests
	rise         = 2 // consecutive passed probes after which it gets requests again
)

// target is a process behind the balancer.
type target struct {
	name, addr, admin string

	out    atomic.Bool
	row    int // consecutive probes that contradict out
	mu     sync.Mutex
	probes []time.Duration
	failed int
	taken  int // number of times that it was taken out
}

// balancer distributes requests in turn over the targets that are not out.
type balancer struct {
	net.Listener

	targets []*target
	next    atomic.Int64
	nobody  atomic.Int64 // requests when all targets were out
	broken  atomic.Int64 // requests whose target closed the connection
	server  *http.Server
	ended   chan struct{}
	probing sync.WaitGroup
}

// picked is the context key for the target of a request.
type picked struct{}

func newBalancer(targets []*target) (*balancer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &balancer{Listener: l, targets: targets, ended: make(chan struct{})}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			t, _ := r.In.Context().Value(picked{}).(*target)
			r.SetURL(&url.URL{Scheme: "http", Host: t.addr})
			r.SetXForwarded()
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 2_000, IdleConnTimeout: time.Minute},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			b.broken.Add(1)
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	b.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := b.pick()
		if t == nil {
			b.nobody.Add(1)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), picked{}, t)))
	})}
	go func() { _ = b.server.Serve(l) }()
	for _, t := range targets {
		b.probing.Go(func() { b.probe(t) })
	}
	return b, nil
}

// close stops serving and probing.
func (b *balancer) close() {
	close(b.ended)
	b.probing.Wait()
	_ = b.server.Close()
}

// probe probes the readiness of a target until the balancer is closed. Each probe uses a new
// connection.
func (b *balancer) probe(t *target) {
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		began := time.Now()
		res, err := client.Get("http://" + t.admin + "/readyz")
		if err == nil {
			_ = res.Body.Close()
		}
		t.probed(err == nil && res.StatusCode == http.StatusOK, time.Since(began))
		select {
		case <-b.ended:
			return
		case <-tick.C:
		}
	}
}

// probed records a probe and updates whether the target is out.
func (t *target) probed(ok bool, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.probes = append(t.probes, took)
	if !ok {
		t.failed++
	}
	if out := t.out.Load(); ok == !out {
		t.row = 0
		return
	}
	t.row++
	switch {
	case !ok && t.row >= fall:
		t.out.Store(true)
		t.row, t.taken = 0, t.taken+1
	case ok && t.row >= rise:
		t.out.Store(false)
		t.row = 0
	}
}

// pick returns the target of the next request, or nil if all are out.
func (b *balancer) pick() *target {
	from := int(b.next.Add(1))
	for i := range b.targets {
		if t := b.targets[(from+i)%len(b.targets)]; !t.out.Load() {
			return t
		}
	}
	return nil
}

// forget resets all counters.
func (b *balancer) forget() {
	for _, t := range b.targets {
		t.mu.Lock()
		t.probes, t.failed, t.taken = nil, 0, 0
		t.mu.Unlock()
	}
	b.nobody.Store(0)
	b.broken.Store(0)
}

// told summarizes the probes.
func (b *balancer) told() string {
	var all []time.Duration
	failed, taken := 0, 0
	for _, t := range b.targets {
		t.mu.Lock()
		all = append(all, t.probes...)
		failed, taken = failed+t.failed, taken+t.taken
		t.mu.Unlock()
	}
	slices.Sort(all)
	return fmt.Sprintf("%d of %d failed, %d times a process was taken out; median %.1f ms, 99 of 100 within %.1f ms, most %.1f ms",
		failed, len(all), taken, ms(at(all, .5)), ms(at(all, .99)), ms(at(all, 1)))
}
