package delivery

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Options configures a Sender. If a field has its zero value, the default is used.
type Options struct {
	Schedule     []time.Duration // waits between attempts; there is one attempt more than entries
	Slots        int             // maximum number of requests in flight
	InFlight     int             // maximum number of requests in flight per subscription
	AllowPrivate bool            // true: allow requests to loopback and private addresses
	Timeout      time.Duration   // timeout of one request, including the answer
	Connect      time.Duration   // timeout of the TCP connection, and also of the TLS handshake
	// WakeAt is called with the time of the next attempt. It must not block. A wake-up may be lost,
	// because a later Sweep also finds the delivery.
	WakeAt func(subscription string, at time.Time)
	Tracer *tracing.Tracer // nil: requests are not traced
}

func (o Options) filled() Options {
	if o.Schedule == nil {
		o.Schedule = defaultSchedule
	}
	o.Slots, o.InFlight = cmp.Or(o.Slots, 256), cmp.Or(o.InFlight, 1)
	o.Timeout, o.Connect = cmp.Or(o.Timeout, 10*time.Second), cmp.Or(o.Connect, 3*time.Second)
	if o.WakeAt == nil {
		o.WakeAt = func(string, time.Time) {}
	}
	return o
}

// Sender sends due deliveries. It is safe for concurrent use. Run must be running when other
// methods are called.
type Sender struct {
	*Store
	o        Options
	name     string       // unique name; first part of the owner of each claim
	claims   atomic.Int64 // number of the last claim; second part of its owner
	leases   *lease.Table[string]
	client   *http.Client
	queues   *queues
	results  *recorder
	clock    clock
	measured atomic.Int64       // when the gauges of due deliveries were last updated, in ns since 1970
	isSlow   func(*result) bool // tests replace it, so that they need no slow requests

	// The clock of this process, its timers, and random numbers from 0 to 1. Tests replace them.
	now    func() time.Time
	after  func(time.Duration, func())
	chance func() float64
}

// NewSender returns a sender that has claimed nothing.
func (s *Store) NewSender(o Options) *Sender {
	o = o.filled()
	n := &Sender{
		Store: s, o: o, name: uuid.NewString(), client: newClient(o),
		leases: lease.New[string](s.db, "webhook_delivery", "", "state = 0"),
		isSlow: func(res *result) bool { return res.duration > slowAfter },
		now:    time.Now, after: func(wait time.Duration, fn func()) { time.AfterFunc(wait, fn) }, chance: rand.Float64,
	}
	n.queues = newQueues(n)
	n.results = newRecorder(n)
	return n
}

// newOwner returns a unique owner for a new claim.
func (s *Sender) newOwner() string { return s.name + "." + strconv.FormatInt(s.claims.Add(1), 36) }

// owns reports whether the owner of a claim belongs to this sender.
func (s *Sender) owns(owner string) bool { return strings.HasPrefix(owner, s.name+".") }

// Run sends deliveries until ctx ends. Then it waits up to shutdownWait for the requests in flight,
// and releases the remaining claims.
func (s *Sender) Run(ctx context.Context) error {
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var recorder sync.WaitGroup
	recorder.Go(func() { s.results.run(recording) })
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRenewing()
	recorder.Go(func() { s.queues.renewAll(renewing) })

	<-ctx.Done()
	s.queues.close()
	stopRenewing()
	stop()
	recorder.Wait()
	s.client.CloseIdleConnections()
	return nil
}
