package delivery_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

var (
	simSteps = flag.Int("sim.steps", 0, "steps of the simulation on each database; 0: few")
	simSeed  = flag.Uint64("sim.seed", 0, "seed of its first episode; 0: another one each time")
)

var defaultModel = meta.Default()

// episodeSteps is the number of random steps of an episode.
const episodeSteps = 1500

// TestSimulation runs senders, receivers, changes of subscriptions, and clocks. All of them run
// step by step in one goroutine, in an order that depends on a seed. The test compares the events
// with a model of the subscriptions. No event may get lost, go to a wrong receiver, or wait
// forever. Each episode has its own seed. A failure prints the seed, with which the episode can be
// repeated.
func TestSimulation(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		steps := cmp.Or(*simSteps, map[string]int{"sqlite": 4 * episodeSteps, "mysql": episodeSteps}[d.Dialect.Name])
		seed, began := cmp.Or(*simSeed, rand.Uint64()), time.Now()
		first, seen := seed, map[string]int{}
		for n := 0; n < steps; n += episodeSteps {
			episode(t, d, seed, seen)
			seed++
		}
		t.Logf("%d steps from -sim.seed %d on, %.0f a minute: %v", steps, first, float64(steps)/time.Since(began).Minutes(), seen)
	})
}

// sim is the state of one episode.
type sim struct {
	*testing.T
	seed    uint64
	rnd     *rand.Rand
	d       *db.DB
	service *webhook.Service
	store   *delivery.Store
	model   *model
	name    string // name of the last step

	clock   int64 // time of all processes, in UTC microseconds
	ahead   int64 // time of the database minus the field clock, in microseconds
	jumped  int64 // value of clock at the last change of ahead
	timers  []timer
	senders []*process
	matched [][]*delivery.Delivery // deliveries to be inserted, in this order
	lost    int                    // number of steps that may have caused lost claims
	refuses bool                   // true: the next call of DeliveryFailed fails
}

// process is a sender, with the work that its goroutines would do next in a real process.
type process struct {
	*delivery.Stepped
	popped  []*delivery.Delivery // deliveries whose requests will begin
	begun   []*delivery.Begun    // requests in flight
	stopped int64                // the process does nothing before this time on sim.clock
}

type timer struct {
	at int64
	do func()
}

var schedule = []time.Duration{time.Second}

// disableAfter is the number of failed deliveries in a row that disables a subscription.
const disableAfter = 2

// episode runs one episode. It counts in the map seen how often each thing happens.
func episode(t *testing.T, d *db.DB, seed uint64, seen map[string]int) {
	t.Helper()
	box, err := secret.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	x := &sim{T: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), d: d, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()}
	x.model = newModel(x, seen)
	for _, table := range []string{"webhook_delivery", "webhook_receipt", "webhook_subscription"} {
		x.exec("DELETE FROM " + table)
	}
	x.exec("DELETE FROM sequence WHERE name = 'simulated'")
	x.exec("INSERT INTO sequence (name, value) VALUES ('simulated', 0)")
	dialect := d.Dialect
	defer func() { d.Dialect = dialect }()
	simulated := *dialect
	simulated.NowMicros = "(SELECT value FROM sequence WHERE name = 'simulated')"
	d.Dialect = &simulated
	x.pass(0)
	log := slog.New(slog.DiscardHandler)
	x.service = webhook.New(d, defaultModel, webhook.Options{Find: noFinder{}, Box: box, Retention: time.Hour, DisableAfter: disableAfter, Log: log})
	x.store = delivery.New(d, delivery.Config{Subscriptions: x, Box: box, Retention: time.Hour, Log: log})
	for range 2 {
		x.senders = append(x.senders, &process{})
		x.start(len(x.senders) - 1)
	}
	for range 4 {
		x.create()
	}
	for range episodeSteps {
		x.step()
	}
	x.end()
}

func (x *sim) failed(format string, args ...any) {
	x.Helper()
	x.Fatalf("-sim.seed %d, after %q: %s", x.seed, x.name, fmt.Sprintf(format, args...))
}

func (x *sim) must(err error) {
	x.Helper()
	if err != nil {
		x.failed("%v", err)
	}
}

func (x *sim) exec(query string, args ...any) {
	x.Helper()
	_, err := x.d.Exec(x.Context(), query, args...)
	x.must(err)
}

func (x *sim) count(query string, args ...any) (n int) {
	x.Helper()
	x.must(x.d.QueryRow(x.Context(), query, args...).Scan(&n))
	return n
}

func (x *sim) now() time.Time { return time.UnixMicro(x.clock) }

func (x *sim) after(wait time.Duration, do func()) {
	x.timers = append(x.timers, timer{x.clock + wait.Microseconds(), do})
}

// pass advances the clocks, and runs the timers that are due.
func (x *sim) pass(wait time.Duration) {
	x.clock += wait.Microseconds()
	x.exec("UPDATE sequence SET value = ? WHERE name = 'simulated'", x.clock+x.ahead)
	due := slices.DeleteFunc(slices.Clone(x.timers), func(t timer) bool { return t.at > x.clock })
	x.timers = slices.DeleteFunc(x.timers, func(t timer) bool { return t.at <= x.clock })
	slices.SortStableFunc(due, func(a, b timer) int { return cmp.Compare(a.at, b.at) })
	for _, t := range due {
		t.do()
	}
}

// start replaces a process with a new process, as if the old process had crashed.
func (x *sim) start(i int) {
	x.senders[i] = &process{Stepped: x.store.NewStepped(delivery.Options{Schedule: schedule, Slots: 8, InFlight: 3}, x.now, x.after, x.rnd.Float64)}
}

// DeliveryFailed calls the service. If refuses is true, it returns an error instead.
func (x *sim) DeliveryFailed(ctx context.Context, subscription, write string) error {
	if x.refuses {
		x.refuses = false
		return fmt.Errorf("the database is away")
	}
	return x.service.DeliveryFailed(ctx, subscription, write)
}

// kinds are the kinds of steps. often is the relative frequency of each kind.
var kinds = []struct {
	name  string
	often int
	do    func(*sim)
}{
	{"match", 50, (*sim).match},
	{"insert", 60, (*sim).insert},
	{"next", 250, func(x *sim) { x.next(x.process(), x.subscription()) }},
	{"begin", 180, func(x *sim) { x.begin(x.process()) }},
	{"answer", 180, func(x *sim) { x.answer(x.process()) }},
	{"record", 90, func(x *sim) { x.record(x.process(), 1+x.rnd.IntN(4)) }},
	{"time", 60, func(x *sim) { x.pass(time.Duration(x.rnd.IntN(400)) * time.Millisecond) }},
	{"much time", 3, func(x *sim) { x.pass(time.Duration(x.rnd.IntN(30)) * time.Second) }},
	{"renew", 50, func(x *sim) { x.live(func(p *process) { x.must(p.Renew()) }) }},
	{"refresh", 6, func(x *sim) { x.live(func(p *process) { x.must(p.Refresh()) }) }},
	{"sweep", 25, func(x *sim) { x.live(func(p *process) { x.must(p.Sweep(x.Context())) }) }},
	{"edit", 16, (*sim).edit},
	{"redeliver", 8, (*sim).redeliver},
	{"prune", 2, (*sim).prune},
	{"mood", 20, func(x *sim) { x.model.mood(x.rnd) }},
	{"stop", 6, func(x *sim) { x.process().stopped = x.clock + x.rnd.Int64N(15_000_000); x.lost++ }},
	{"end", 1, func(x *sim) { x.start(x.rnd.IntN(len(x.senders))); x.lost++ }},
	{"clock", 1, func(x *sim) {
		most := []time.Duration{time.Minute, 20 * 24 * time.Hour}[x.rnd.IntN(2)].Microseconds()
		x.setClock(x.rnd.Int64N(most) - x.rnd.Int64N(time.Minute.Microseconds()))
	}},
	{"refuse", 3, func(x *sim) { x.refuses = true }},
}

func (x *sim) step() {
	total := 0
	for _, k := range kinds {
		total += k.often
	}
	n := x.rnd.IntN(total)
	for _, k := range kinds {
		if n -= k.often; n < 0 {
			x.name = k.name
			k.do(x)
			return
		}
	}
}

func (x *sim) process() *process { return x.senders[x.rnd.IntN(len(x.senders))] }

// subscription returns a random subscription that is not deleted.
func (x *sim) subscription() *subscription {
	return x.model.subscriptions[x.rnd.IntN(len(x.model.subscriptions))]
}

// live calls the function do with a random process. It does nothing if that process is stopped.
func (x *sim) live(do func(*process)) {
	if p := x.process(); p.stopped <= x.clock {
		do(p)
	}
}

// setClock sets the clock of the database back or ahead. Before that, all processes sweep, so that
// they have read the earlier time. Real workers sweep every two seconds.
func (x *sim) setClock(ahead int64) {
	for _, p := range x.senders {
		p.stopped = 0
		x.must(p.Sweep(x.Context()))
	}
	x.ahead = ahead
	x.jumped = x.clock
	x.lost++
	x.pass(0)
}

// match creates an event, and a delivery of the event for some of the enabled subscriptions.
func (x *sim) match() {
	var all []*delivery.Delivery
	seq := x.model.newEvent()
	for _, s := range x.model.subscriptions {
		if !s.enabled || x.rnd.IntN(2) == 0 {
			continue
		}
		d := &delivery.Delivery{
			ID: delivery.NewID(), Subscription: s.id, Audit: seq, First: seq, Last: seq, Events: 1, Since: s.since,
			Payload: fmt.Appendf(nil, `{"events":[{"sequenceId":%d}]}`, seq), Committed: x.clock + x.ahead,
		}
		if s.ordered {
			d.Asset = 1 + x.rnd.Int64N(3)
		}
		all = append(all, d)
	}
	if len(all) > 0 {
		x.matched = append(x.matched, all)
	}
}

func (x *sim) insert() {
	p := x.process()
	if len(x.matched) == 0 || p.stopped > x.clock {
		return
	}
	all := x.matched[0]
	x.matched = x.matched[1:]
	var batch *delivery.Batch
	x.must(x.d.Write(x.Context(), func(tx *db.Tx) (err error) {
		batch, err = p.Insert(x.Context(), tx, all)
		return err
	}))
	p.Enqueue(batch)
	for _, d := range all {
		x.model.inserted(d)
	}
}

func (x *sim) next(p *process, s *subscription) bool {
	if p.stopped > x.clock {
		return false
	}
	d, moved := p.Next(s.id)
	p.push(d)
	return moved
}

func (p *process) push(d *delivery.Delivery) {
	if d != nil {
		p.popped = append(p.popped, d)
	}
}

// begin begins the request of a random delivery, and checks that it may begin. It returns false if
// no request can begin.
func (x *sim) begin(p *process) bool {
	if p.stopped > x.clock || len(p.popped) == 0 {
		return false
	}
	i := x.rnd.IntN(len(p.popped))
	req, next, began := p.Begin(p.popped[i])
	if !began {
		return false
	}
	p.popped = slices.Delete(p.popped, i, i+1)
	p.push(next)
	if req == nil {
		x.model.seen["not sent"]++
	}
	if req != nil {
		x.model.begins(req)
		p.begun = append(p.begun, req)
	}
	return true
}

// answer ends a random request with an answer. It returns false if no request is in flight.
func (x *sim) answer(p *process) bool {
	if p.stopped > x.clock || len(p.begun) == 0 {
		return false
	}
	i := x.rnd.IntN(len(p.begun))
	req := p.begun[i]
	p.begun = slices.Delete(p.begun, i, i+1)
	status, wait := x.model.answers(req)
	p.push(p.End(req, status, wait))
	return true
}

// record stores results, and compares the stored data with the model. It returns false if there are
// no results to store.
func (x *sim) record(p *process, most int) bool {
	results := p.Unstored(most)
	if p.stopped > x.clock || len(results) == 0 {
		return false
	}
	check := x.model.records(results)
	stands := func(d *delivery.Delivery) bool {
		owner, _ := delivery.OwnerOf(d)
		return x.count("SELECT COUNT(*) FROM webhook_delivery WHERE id = ? AND state = 0 AND owner = ?", d.ID, owner) == 1
	}
	var again []*delivery.Delivery // later claims of the same deliveries by this process
	for _, res := range results {
		if claim := p.Claim(res.Delivery.ID); claim != nil && claim != res.Delivery && stands(claim) {
			again = append(again, claim)
		}
	}
	disabled := x.model.seen["disabled by the service"]
	p.Record(most)
	check()
	for _, d := range again {
		x.model.seen["claimed again"]++
		// If the process no longer holds the claim, the process itself has released or ended it.
		if s := x.model.byID[d.Subscription]; s.enabled && !s.gone && p.Claim(d.ID) == d && !stands(d) {
			x.failed("the result of a lost claim ended a later one")
		}
	}
	if disabled < x.model.seen["disabled by the service"] || slices.ContainsFunc(results, func(r delivery.Ended) bool { return r.Status == http.StatusGone }) {
		x.pass(stale)
	}
	return true
}

// stale is slightly longer than freshFor. After this time every request reads its subscription
// again.
const stale = 11 * time.Millisecond

func (x *sim) create() {
	url, header := x.model.newURL(), x.model.newHeader()
	s, err := x.service.Create(x.Context(), auth.System, body(map[string]any{
		"url": url, "authorizationHeader": header, "maxBatch": 1 + 3*x.rnd.IntN(2), "ordered": x.rnd.IntN(3) == 0,
		"eventTypes": []any{map[string]any{"type": "AssetChanged", "from": "Story"}},
	}))
	x.must(err)
	x.model.created(s.ID, url, header, s.Ordered)
}

// edit changes or deletes a random subscription.
func (x *sim) edit() {
	s := x.subscription()
	change, kind := map[string]any{}, x.rnd.IntN(12)
	if !s.enabled && x.rnd.IntN(2) == 0 {
		kind = 5
	}
	switch kind {
	case 0, 1:
		change["url"] = x.model.newURL()
	case 2:
		change["authorizationHeader"] = x.model.newHeader()
	case 3, 4:
		change["paused"] = !s.paused
	case 5, 6:
		change["enabled"] = !s.enabled
	case 7, 8: // twice, so that the state is the same as before
		x.update(s, map[string]any{"enabled": !s.enabled})
		change["enabled"] = !s.enabled
	case 9:
		change["maxBatch"] = 1 + x.rnd.IntN(5)
	case 10:
		change["ordered"] = !s.ordered
	case 11:
		if _, err := x.service.Delete(x.Context(), auth.System, s.id); err != nil {
			x.failed("%v", err)
		}
		x.model.deleted(s)
		x.create()
	}
	if len(change) > 0 {
		x.update(s, change)
	}
	x.pass(stale)
}

func (x *sim) update(s *subscription, change map[string]any) {
	_, err := x.service.Update(x.Context(), auth.System, s.id, body(change))
	x.must(err)
	x.model.updated(s, change)
}

func (x *sim) prune() {
	x.must(x.service.Prune(x.Context()))
	x.model.disabledByPrune()
	x.pass(stale)
}

func (x *sim) redeliver() {
	s := x.subscription()
	ids, err := db.Column[string](x.Context(), x.d, "SELECT id FROM webhook_delivery WHERE subscription_id = ? ORDER BY first_moment", s.id)
	x.must(err)
	if len(ids) == 0 {
		return
	}
	id := ids[x.rnd.IntN(len(ids))]
	asked := x.model.asked(s, id)
	_, err = x.service.Redeliver(x.Context(), auth.System, s.id, body(map[string]any{"delivery": id}))
	if s.enabled {
		x.must(err)
		asked()
	} else if err == nil {
		x.failed("a delivery of a disabled subscription is sent again")
	}
}

// end makes all receivers answer 200, starts stopped processes, and resumes paused subscriptions.
// Then it takes steps until no delivery waits, and checks the result.
func (x *sim) end() {
	x.name = "the end"
	x.setClock(0)
	x.refuses = false
	x.model.well()
	for len(x.matched) > 0 {
		x.insert()
		x.pass(time.Second)
	}
	for _, s := range x.model.subscriptions {
		if s.paused {
			x.update(s, map[string]any{"paused": false})
		}
	}
	x.prune()
	for round := range 300 {
		for _, p := range x.senders {
			p.stopped = 0
			x.must(p.Renew())
			x.must(p.Refresh())
			x.must(p.Sweep(x.Context()))
		}
		for n := 0; x.goOn(); n++ {
			if n == 1000 {
				x.failed("it goes on for ever")
			}
		}
		if x.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0") == 0 {
			break
		}
		if round == 299 {
			x.failed("deliveries are stuck: %s", strings.Join(x.waiting(), ", "))
		}
		x.pass(time.Second << min(round/10, 8))
	}
	for i, p := range x.senders {
		if n := p.Queues(); n > 0 {
			x.failed("%d queues of the process %d wait for nothing", n, i)
		}
		for what, n := range p.Held() {
			if n != 0 {
				x.failed("the process %d holds %d %s", i, n, what)
			}
		}
	}
	x.model.ended()
}

// waiting describes the first waiting deliveries. For each delivery it shows, in seconds from now,
// the due time, the end of the lease and the time of the last failure.
func (x *sim) waiting() []string {
	all, err := db.Collect(x.Context(), x.d, `SELECT first_moment, due - ?, lease - ?, failed_at - ?, attempts, COALESCE(asset_id, 0), COALESCE(owner, '')
		FROM webhook_delivery WHERE state = 0 ORDER BY first_moment LIMIT 5`, []any{x.clock, x.clock, x.clock}, func(row db.Scanner) (string, error) {
		var n [6]int64
		var owner string
		err := row.Scan(&n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &owner)
		return fmt.Sprintf("%d due %d leased %d failed %d attempts %d asset %d owner %s", n[0], n[1]/1e6, n[2]/1e6, n[3]/1e6, n[4], n[5], owner), err
	})
	x.must(err)
	return all
}

// goOn takes steps of the senders as long as a step is possible. It returns false if no step was
// possible.
func (x *sim) goOn() (moved bool) {
	for _, p := range x.senders {
		for _, s := range x.model.ever {
			for n := 0; n < 100 && x.next(p, s); n++ {
				moved = true
			}
		}
		for n := 0; n < 100 && (x.begin(p) || x.answer(p) || x.record(p, 3)); n++ {
			moved = true
		}
	}
	return moved
}

func body(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// noFinder accepts every event definition and finds no assets.
type noFinder struct{}

func (noFinder) Matching(context.Context, db.Querier, auth.Actor, string, []string, map[string][]string, []oid.OID) ([]bool, error) {
	return nil, nil
}

func (noFinder) Snapshot(context.Context, db.Querier, auth.Actor, string, []string, []oid.OID) ([]json.RawMessage, error) {
	return nil, nil
}

func (noFinder) CheckDefinition(string, []string, map[string][]string, []string, []string) error {
	return nil
}
