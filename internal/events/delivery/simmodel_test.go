package delivery_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
)

// model holds the expected state of subscriptions and of their events.
type model struct {
	x             *sim
	subscriptions []*subscription          // subscriptions that are not deleted
	ever          []*subscription          // all subscriptions, including deleted subscriptions
	byID          map[string]*subscription // all subscriptions by id
	moods         map[string]int           // by URL: status of the answers, 0 for no answer; missing: 200
	urls, headers int                      // how many URLs and headers were made
	seq           int64                    // sequence id of the last event
	events        map[eventKey]*fate
	seen          map[string]int // key: something that has happened; value: how often it has happened
}

// subscription is the expected current state of a subscription.
type subscription struct {
	id, url, header                   string
	enabled, paused, deleted, ordered bool
	since                             int64 // generation at which the subscription was enabled
	failures, exhausted               int   // numbers of failed attempts and of failed deliveries in a row
	gone                              bool  // true: its URL has answered 410
}

type eventKey struct {
	subscription string
	seq          int64
}

// fate is the state of an event of a subscription. When the event is requested again, the fields
// are reset to false.
type fate struct {
	arrived bool // true: the receiver has accepted the event
	givenUp bool // true: the last attempt has failed
	dropped bool // true: the subscription was disabled or deleted before the event arrived or was given up
}

func newModel(x *sim, seen map[string]int) *model {
	return &model{x: x, seen: seen, byID: map[string]*subscription{}, moods: map[string]int{}, events: map[eventKey]*fate{}}
}

func (m *model) newURL() string {
	m.urls++
	return fmt.Sprintf("http://receiver-%d.test/hook", m.urls)
}

func (m *model) newHeader() string {
	m.headers++
	return fmt.Sprintf("Bearer token-%d", m.headers)
}

func (m *model) newEvent() int64 {
	m.seq++
	return m.seq
}

// mood changes the future answers of a random receiver.
func (m *model) mood(rnd *rand.Rand) {
	s := m.subscriptions[rnd.IntN(len(m.subscriptions))]
	m.moods[s.url] = []int{200, 200, 200, 200, 500, 500, 500, 429, 410, 0}[rnd.IntN(10)]
}

// well makes all receivers answer 200.
func (m *model) well() { clear(m.moods) }

func (m *model) created(id, url, header string, ordered bool) {
	s := &subscription{id: id, url: url, header: header, ordered: ordered, enabled: true}
	m.subscriptions, m.ever, m.byID[id] = append(m.subscriptions, s), append(m.ever, s), s
	m.enabledSince(s)
}

func (m *model) enabledSince(s *subscription) {
	before := s.since
	m.x.must(m.x.d.QueryRow(m.x.Context(), "SELECT since_generation FROM webhook_subscription WHERE id = ?", s.id).Scan(&s.since))
	if s.since <= before {
		m.x.failed("it is enabled again since %d, after %d", s.since, before)
	}
	s.failures, s.exhausted, s.gone = 0, 0, false
}

func (m *model) deleted(s *subscription) {
	s.deleted = true
	m.drop(s)
	m.subscriptions = slices.DeleteFunc(m.subscriptions, func(o *subscription) bool { return o == s })
}

// drop disables a subscription and drops its waiting events.
func (m *model) drop(s *subscription) {
	s.enabled = false
	for k, f := range m.events {
		if k.subscription == s.id && !f.arrived && !f.givenUp {
			f.dropped = true
		}
	}
}

func (m *model) updated(s *subscription, change map[string]any) {
	if to, ok := change["url"].(string); ok {
		s.url, s.failures, s.exhausted, s.gone = to, 0, 0, false
	}
	if to, ok := change["authorizationHeader"].(string); ok {
		s.header = to
	}
	if to, ok := change["paused"].(bool); ok {
		s.paused = to
	}
	if to, ok := change["ordered"].(bool); ok {
		s.ordered = to
	}
	switch to, ok := change["enabled"].(bool); {
	case ok && to && !s.enabled:
		s.enabled = true
		m.enabledSince(s)
	case ok && !to && s.enabled:
		m.drop(s)
	}
}

// inserted must be called after a matched delivery was inserted. It checks whether the delivery was
// stored or dropped as expected.
func (m *model) inserted(d *delivery.Delivery) {
	s := m.byID[d.Subscription]
	want := 0
	m.seen["inserted"]++
	if s.enabled && s.since == d.Since {
		want = 1
		m.events[eventKey{s.id, d.First}] = &fate{}
	} else {
		m.seen["dropped when inserted"]++
	}
	if got := m.x.count("SELECT COUNT(*) FROM webhook_delivery WHERE id = ?", d.ID); got != want {
		m.x.failed("%d deliveries are stored of a change before it was enabled or after, want %d", got, want)
	}
}

// of returns the fates of the events in the body of a request.
func (m *model) of(s *subscription, text []byte) (all []*fate) {
	var read struct{ Events []struct{ SequenceID int64 } }
	if err := json.Unmarshal(text, &read); err != nil {
		m.x.failed("%v: %s", err, text)
	}
	for _, e := range read.Events {
		f := m.events[eventKey{s.id, e.SequenceID}]
		if f == nil {
			m.x.failed("an event comes that was never for this subscription")
		}
		all = append(all, f)
	}
	return all
}

// begins must be called when a request begins. It compares the request with the current state of
// its subscription and of its delivery.
func (m *model) begins(req *delivery.Begun) {
	d := req.Delivery
	s := m.byID[d.Subscription]
	if !s.enabled || s.paused || s.gone {
		m.x.failed("a request begins of a subscription that is enabled: %t, paused: %t, gone: %t", s.enabled, s.paused, s.gone)
	}
	if url, header := req.Request.URL.String(), req.Request.Header.Get("Authorization"); url != s.url || header != s.header {
		m.x.failed("a request goes to %s with %q, want %s with %q", url, header, s.url, s.header)
	}
	m.of(s, delivery.BodyOf(d))
	owner, leased := delivery.OwnerOf(d)
	if leased.UnixMicro() <= m.x.jumped {
		return // the database's clock was set after the claim, so another sender may have claimed it
	}
	if m.x.count("SELECT COUNT(*) FROM webhook_delivery WHERE id = ? AND state = 0 AND owner = ?", d.ID, owner) == 0 {
		now := ""
		m.x.must(m.x.d.QueryRow(m.x.Context(), "SELECT CONCAT(state, ' ', COALESCE(owner, '-'), ' ', lease, ' ', attempts) FROM webhook_delivery WHERE id = ?", d.ID).Scan(&now))
		m.x.failed("a request begins of a delivery that others have, or that has ended: it was claimed by %s at %s, now %s is %s", owner, leased, m.x.now(), now)
	}
	if s.ordered && m.x.count(`SELECT COUNT(*) FROM webhook_delivery e JOIN webhook_delivery d ON e.asset_id = d.asset_id AND e.subscription_id = d.subscription_id
		WHERE d.id = ? AND e.state = 0 AND e.first_moment < d.first_moment`, d.ID) > 0 {
		m.x.failed("a request begins before an earlier event of its asset has ended")
	}
}

// answers returns the answer of a receiver to a request. wait is the wait in the Retry-After header
// of the answer, or 0.
func (m *model) answers(req *delivery.Begun) (status int, wait time.Duration) {
	status, known := m.moods[req.Request.URL.String()]
	if !known {
		status = http.StatusOK
	}
	if status == http.StatusOK {
		for _, f := range m.of(m.byID[req.Delivery.Subscription], delivery.BodyOf(req.Delivery)) {
			f.arrived = true
		}
	}
	if status == http.StatusTooManyRequests {
		wait = 2 * time.Second
	}
	return status, wait
}

// records must be called with results before they are stored. It returns a function that must be
// called after they are stored, and that checks what was stored.
func (m *model) records(results []delivery.Ended) (check func()) {
	counted := map[*subscription]bool{}
	var gone []*delivery.Delivery // answered 410: ended, or retried if the 410 came from an earlier URL
	for _, res := range results {
		s := m.byID[res.Delivery.Subscription]
		owner, _ := delivery.OwnerOf(res.Delivery)
		isOf := !s.deleted && s.url == res.URL && s.since == res.Since
		m.seen[res.Outcome.String()]++
		held := m.x.count("SELECT COUNT(*) FROM webhook_delivery WHERE id = ? AND state = 0 AND owner = ?", res.Delivery.ID, owner) == 1
		if res.Status == http.StatusGone && isOf && s.enabled {
			s.gone = true
		}
		if !held {
			m.seen["late"]++
			continue
		}
		if !isOf {
			m.seen["of a receiver of before"]++
		}
		if res.Outcome == delivery.Gone {
			gone = append(gone, res.Delivery)
		}
		if res.Outcome == delivery.Exhausted {
			for _, f := range m.of(s, delivery.BodyOf(res.Delivery)) {
				f.givenUp = true
			}
		}
		counted[s] = true
		switch {
		case !isOf:
		case res.Outcome == delivery.Delivered:
			s.failures, s.exhausted = 0, 0
		case res.Outcome == delivery.Exhausted:
			s.exhausted++
			fallthrough
		default:
			s.failures++
		}
	}
	return func() {
		for _, d := range gone {
			if m.x.count("SELECT COUNT(*) FROM webhook_delivery WHERE id = ? AND state = 2", d.ID) == 1 {
				for _, f := range m.of(m.byID[d.Subscription], delivery.BodyOf(d)) {
					f.givenUp = true
				}
			}
		}
		for _, s := range m.subscriptions {
			m.learn(s, counted[s])
		}
	}
}

// learn compares the stored subscription with the model. If the service has disabled the
// subscription for a valid reason, learn also disables it in the model. It compares the counters
// only if counted is true.
func (m *model) learn(s *subscription, counted bool) {
	var enabled bool
	var failures, exhausted int
	var reason string
	m.x.must(m.x.d.QueryRow(m.x.Context(), "SELECT enabled, failures_in_row, exhausted_in_row, COALESCE(disabled_reason, '') FROM webhook_subscription WHERE id = ?", s.id).
		Scan(&enabled, &failures, &exhausted, &reason))
	switch {
	case enabled != s.enabled && enabled:
		m.x.failed("a subscription is enabled that was disabled")
	case enabled != s.enabled && strings.Contains(reason, "410") && !s.gone:
		m.x.failed("a subscription is disabled by a 410 that its URL has not answered")
	case enabled != s.enabled && !strings.Contains(reason, "410") && s.exhausted < disableAfter:
		m.x.failed("a subscription is disabled after %d deliveries that failed", s.exhausted)
	case enabled != s.enabled:
		m.seen["disabled by the service"]++
		m.drop(s)
	case counted && enabled && (failures != s.failures || exhausted != s.exhausted):
		m.x.failed("%d attempts and %d deliveries in a row have failed, stored are %d and %d", s.failures, s.exhausted, failures, exhausted)
	}
}

// disabledByPrune updates the model after Prune. It checks that Prune has disabled every
// subscription that it had to disable.
func (m *model) disabledByPrune() {
	for _, s := range m.subscriptions {
		m.learn(s, false)
		if s.enabled && (s.gone || s.exhausted >= disableAfter) {
			m.x.failed("a subscription is not disabled that is gone: %t, with %d deliveries that failed", s.gone, s.exhausted)
		}
	}
}

// asked must be called before a delivery is requested again. It returns a function that must be
// called afterwards, and that updates the model.
func (m *model) asked(s *subscription, id string) (note func()) {
	var payload []byte
	var state int
	var lease int64
	m.x.must(m.x.d.QueryRow(m.x.Context(), "SELECT payload, state, lease FROM webhook_delivery WHERE id = ?", id).Scan(&payload, &state, &lease))
	return func() {
		if state == 0 && lease > m.x.clock+m.x.ahead {
			return // a sender has claimed the delivery, so it does not change
		}
		m.seen["asked for again"]++
		for _, f := range m.of(s, payload) {
			*f = fate{}
		}
	}
}

// ended checks that no event was lost. Each event must have arrived, been given up after all
// attempts, been set aside, or been dropped with its subscription.
func (m *model) ended() {
	aside := map[eventKey]bool{}
	m.x.must(db.Each(m.x.Context(), m.x.d, "SELECT subscription_id, first_moment FROM webhook_delivery WHERE state = 4", nil, func(row db.Scanner) error {
		var k eventKey
		err := row.Scan(&k.subscription, &k.seq)
		aside[k] = true
		return err
	}))
	m.seen["set aside"] += len(aside)
	if len(aside) > 0 && m.x.lost < 5 {
		m.x.failed("%d deliveries are set aside, and claims were lost %d times", len(aside), m.x.lost)
	}
	for k, f := range m.events {
		if !f.arrived && !f.givenUp && !f.dropped && !aside[k] {
			rows, _ := db.Collect(m.x.Context(), m.x.d, "SELECT id, state, attempts, first_moment, last_moment, events FROM webhook_delivery WHERE subscription_id = ? AND first_moment <= ? AND last_moment >= ?", []any{k.subscription, k.seq, k.seq}, func(row db.Scanner) (string, error) {
				var id string
				var a [5]int64
				err := row.Scan(&id, &a[0], &a[1], &a[2], &a[3], &a[4])
				return fmt.Sprint(id, a), err
			})
			m.x.failed("the event %d of the subscription %+v was lost: %v", k.seq, *m.byID[k.subscription], rows)
		}
	}
}
