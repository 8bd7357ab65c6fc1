package faulttest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	gates "sync/atomic"
	"testing"
	"time"
)

// probeEvery is the interval between two readiness checks of an api by the balancer.
const probeEvery = 25 * time.Millisecond

// balancer is a load balancer. It forwards requests to the ready apis in turn. If an api refuses the
// connection, the next api gets the request. A request that an api has received is never sent to another
// api.
type balancer struct {
	url string

	mu      sync.Mutex
	targets []*target
	turn    int
}

// target is an api behind a balancer.
type target struct {
	addr   string
	ready  gates.Bool
	misses gates.Int32 // how often the api stopped being ready
	ended  chan struct{}
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// add adds an api and starts to check its readiness at the address admin.
func (b *balancer) add(t *testing.T, addr, admin string) *target {
	t.Helper()
	x := &target{addr: addr, ended: make(chan struct{})}
	b.mu.Lock()
	b.targets = append(b.targets, x)
	b.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		x.probe("http://" + admin + "/readyz")
	}()
	t.Cleanup(func() {
		b.remove(x)
		<-over
	})
	return x
}

// remove removes an api and stops the readiness checks.
func (b *balancer) remove(x *target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := slices.Index(b.targets, x); n >= 0 {
		b.targets = slices.Delete(b.targets, n, n+1)
		close(x.ended)
	}
}

func (x *target) probe(url string) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		res, err := http.Get(url) //nolint:gosec,noctx // a service of the test
		if err == nil {
			_ = res.Body.Close()
		}
		ready := err == nil && res.StatusCode == http.StatusOK
		if x.ready.Swap(ready) && !ready {
			x.misses.Add(1)
		}
		select {
		case <-x.ended:
			return
		case <-tick.C:
		}
	}
}

// inTurn returns the ready apis. Each call starts with the next api.
func (b *balancer) inTurn() (all []*target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	for i := range b.targets {
		if x := b.targets[(b.turn+i)%len(b.targets)]; x.ready.Load() {
			all = append(all, x)
		}
	}
	return all
}

// oneByOne opens a new connection for each request.
var oneByOne = &http.Transport{DisableKeepAlives: true}

// ServeHTTP forwards a request to an api. It answers 502 if no api accepts the request.
func (b *balancer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	err = errors.New("no api is ready")
	for _, x := range b.inTurn() {
		var res *http.Response
		if res, err = x.send(req, body); err == nil {
			defer res.Body.Close()
			w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
			w.WriteHeader(res.StatusCode)
			_, _ = io.Copy(w, res.Body)
			return
		}
		if refused, ok := errors.AsType[*net.OpError](err); !ok || refused.Op != "dial" {
			break
		}
	}
	http.Error(w, "balancer: "+err.Error(), http.StatusBadGateway)
}

func (x *target) send(req *http.Request, body []byte) (*http.Response, error) {
	out, err := http.NewRequestWithContext(req.Context(), req.Method, "http://"+x.addr+req.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = req.Header.Clone()
	return oneByOne.RoundTrip(out)
}
