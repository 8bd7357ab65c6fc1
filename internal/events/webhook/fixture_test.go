package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) {
	testdb.Judged(m,
		"DELETE FROM asset",
		"DELETE FROM asset_version",
		"DELETE FROM audit",
		"DELETE FROM webhook_delivery",
		"DELETE FROM webhook_receipt",
		"DELETE FROM webhook_subscription",
		"UPDATE audit SET fan_lease = ?",
		"UPDATE audit SET fan_state = ?",
		"UPDATE webhook_delivery SET committed_at = committed_at - ?, created_at = created_at - ?, settled_at = settled_at - ?",
		"UPDATE webhook_delivery SET due = ?",
		"UPDATE webhook_payload SET created_at = ?",
		"UPDATE webhook_subscription SET previous_until = ?",
	)
}

// maxWait is the maximum time that a test waits for a result.
const maxWait = time.Minute

var model = meta.Default()

// fixture is a Service for tests, with its database. It can write assets and changes of assets.
type fixture struct {
	*testing.T
	d      *db.DB
	s      *Service
	who    auth.Actor
	moment int64
	audit  int64
	assets map[int64]map[string]any // by id of an asset: its columns as they were last written
	born   map[int64]int64          // by id of an asset: its first moment
}

func newFixture(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	box, err := secret.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, d: d, who: auth.System, moment: 1000, assets: map[int64]map[string]any{}, born: map[int64]int64{}}
	f.s = New(d, model, Options{
		Find: fakeFinder{}, Actors: fakeActors{}, Box: box, Public: "http://alds.test/alds",
		Log: slog.New(slog.DiscardHandler),
	})
	f.write(20, edit{asset: 20, typ: "Member", set: map[string]any{"name": "Ann", "attrs": `{"Nickname":"an","Email":"ann@alds.test"}`}})
	f.exec("UPDATE audit SET fan_state = 1")
	return f
}

// newFixtureOn returns a fixture for a database that an earlier test case has used. It deletes the
// rows of that case.
func newFixtureOn(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	for _, table := range []string{
		"asset", "asset_version", "audit", "webhook_subscription", "webhook_delivery", "webhook_receipt",
	} {
		if _, err := d.Exec(t.Context(), "DELETE FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
	return newFixture(t, d)
}

// read returns a subscription as clients see it.
func (f *fixture) read(id string) Subscription {
	f.Helper()
	r, err := findRow(f.d.Gorm(f.Context()), id)
	if err != nil {
		f.Fatal(err)
	}
	return f.s.view(&r)
}

func (f *fixture) exec(query string, args ...any) {
	f.Helper()
	testdb.Exec(f, f.d, query, args...)
}

// edit describes one version that fixture.write writes.
type edit struct {
	asset int64
	typ   string // type of a new asset; empty: the asset exists already
	set   map[string]any
}

// write writes one audit, with one version per change, in the same way as the write engine.
func (f *fixture) write(actor int64, changes ...edit) {
	f.Helper()
	f.audit++
	first := f.moment + 1
	err := f.d.Write(f.Context(), func(tx *db.Tx) error {
		moment := first - 1
		for _, c := range changes {
			moment++
			if err := f.version(tx, moment, c); err != nil {
				return err
			}
		}
		if err := catalog.LockWrite(f.Context(), tx); err != nil {
			return err
		}
		gen, err := generation(f.Context(), tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(f.Context(), `INSERT INTO audit (id, request_id, actor_id, at, first_moment, last_moment, generation)
			VALUES (?,?,?,?,?,?,?)`, f.audit, uuid.NewString(), actor, time.Now().UnixMicro(), first, moment, gen)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.moment += int64(len(changes))
}

func (f *fixture) version(tx *db.Tx, moment int64, c edit) error {
	row := map[string]any{}
	for k, v := range f.assets[c.asset] {
		row[k] = v
	}
	if c.typ != "" {
		t, _ := model.Type(c.typ)
		row = map[string]any{"type": t.Code, "state": 64}
		f.born[c.asset] = moment
	}
	for k, v := range c.set {
		row[k] = v
	}
	f.assets[c.asset] = row
	columns := []string{
		"id", "moment", "until_moment", "audit_id", "created_moment", "created_at", "created_by", "changed_at",
		"changed_by", "linked",
	}
	values := []any{c.asset, moment, db.Forever, f.audit, f.born[c.asset], 0, 20, 0, 20, 0}
	for k, v := range row {
		columns = append(columns, k)
		values = append(values, v)
	}
	if name, ok := row["name"].(string); ok && !folding.IsPlain(name) {
		columns = append(columns, "folded")
		values = append(values, fmt.Sprintf(`{"name":%q}`, folding.Of(name)))
	}
	if _, err := tx.Exec(f.Context(), "UPDATE asset_version SET until_moment = ? WHERE id = ? AND until_moment = ?",
		moment, c.asset, db.Forever); err != nil {
		return err
	}
	if err := db.Insert(f.Context(), tx, "asset_version", columns, [][]any{values}); err != nil {
		return err
	}
	if _, err := tx.Exec(f.Context(), "DELETE FROM asset WHERE id = ?", c.asset); err != nil {
		return err
	}
	current := []int{0, 1, 3, 4, 5, 6, 7, 8}
	for i := 10; i < len(columns); i++ {
		current = append(current, i)
	}
	var names []string
	var cells []any
	for _, i := range current {
		names, cells = append(names, columns[i]), append(cells, values[i])
	}
	return db.Insert(f.Context(), tx, "asset", names, [][]any{cells})
}

// story creates a story and returns its id.
func (f *fixture) story(name string) int64 {
	f.Helper()
	id := 2000 + f.moment
	f.write(20, edit{asset: id, typ: "Story", set: map[string]any{"name": name, "scope_id": 0}})
	return id
}

func (f *fixture) rename(id int64, name string) {
	f.Helper()
	f.write(20, edit{asset: id, set: map[string]any{"name": name}})
}

// subscribe creates a subscription for the given url. The parameter more replaces keys of the
// default body.
func (f *fixture) subscribe(url string, more map[string]any) Subscription {
	f.Helper()
	body := map[string]any{
		"url": url, "webhookId": "mine", "enabled": true,
		"eventTypes": []any{map[string]any{"type": "AssetChanged", "from": "Story"}},
	}
	for k, v := range more {
		body[k] = v
	}
	sub, err := f.s.Create(f.Context(), f.who, asJSON(f.T, body))
	if err != nil {
		f.Fatal(err)
	}
	return sub
}

func (f *fixture) update(id string, body map[string]any) Subscription {
	f.Helper()
	sub, err := f.s.Update(f.Context(), f.who, id, asJSON(f.T, body))
	if err != nil {
		f.Fatal(err)
	}
	return sub
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// worker starts a worker that stops at the end of the test.
func (f *fixture) worker(o delivery.Options) *Worker {
	f.Helper()
	if o.Schedule == nil {
		o.Schedule = []time.Duration{10 * time.Millisecond, 10 * time.Millisecond}
	}
	o.AllowPrivate = true
	w := f.s.NewWorker(o)
	f.start(w)
	return w
}

func (f *fixture) start(w *Worker) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(ctx)
	}()
	f.Cleanup(func() {
		cancel()
		<-done
	})
}

func (f *fixture) fanOut(w *Worker) {
	f.Helper()
	if err := w.FanOut(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// sweep fans out all waiting writes and sends all due deliveries.
func (f *fixture) sweep(w *Worker) {
	f.Helper()
	f.fanOut(w)
	if err := w.Sweep(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// eventually waits until ok returns true. If w is not nil, w sweeps between the calls of ok.
func (f *fixture) eventually(w *Worker, what string, ok func() bool) {
	f.Helper()
	until := time.Now().Add(maxWait)
	for !ok() {
		if time.Now().After(until) {
			f.Fatalf("%s: not within %s", what, maxWait)
		}
		if w != nil {
			f.sweep(w)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func (f *fixture) count(query string, args ...any) int {
	f.Helper()
	return testdb.Count(f, f.d, query, args...)
}

// settledAll reports whether no delivery and no audit is waiting.
func (f *fixture) settledAll() bool {
	return f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0")+
		f.count("SELECT COUNT(*) FROM audit WHERE fan_state = 0") == 0
}

// sink is a receiver that stores its requests. The function answer writes its answers.
type sink struct {
	*httptest.Server
	mu      sync.Mutex
	events  []map[string]any // events of the requests that were answered with 200
	headers []http.Header
	bodies  []string
	answer  func(n int, w http.ResponseWriter, r *http.Request) // n: number of earlier requests; nil: answers 200
}

func newSink(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *sink {
	t.Helper()
	s := &sink{answer: answer}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var d struct {
		Events []map[string]any `json:"events"`
	}
	if err := json.Unmarshal(body, &d); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	n := len(s.bodies)
	s.bodies = append(s.bodies, string(body))
	s.headers = append(s.headers, r.Header.Clone())
	s.mu.Unlock()
	status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	if s.answer != nil {
		s.answer(n, status, r)
	}
	if status.status == http.StatusOK {
		s.mu.Lock()
		s.events = append(s.events, d.Events...)
		s.mu.Unlock()
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (s *sink) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// sequence returns the sequenceIds of the received events in ascending order, because events may
// come out of order.
func (s *sink) sequence() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []int64
	for _, e := range s.events {
		id, _ := e["sequenceId"].(float64)
		all = append(all, int64(id))
	}
	slices.Sort(all)
	return all
}

// eachOnce reports whether exactly n events came, each of them once.
func (s *sink) eachOnce(n int) bool {
	got := s.sequence()
	return len(got) == n && len(slices.Compact(got)) == n
}

// fakeFinder evaluates only filters of the form Name='<value>'. For other filters, every asset
// matches. A snapshot row contains the name of the asset as the value of each selected attribute.
type fakeFinder struct{}

func (f fakeFinder) name(ctx context.Context, q db.Querier, o oid.OID) (string, error) {
	var name string
	err := q.QueryRow(ctx, "SELECT COALESCE(name, '') FROM asset_version WHERE id = ? AND moment = ?", o.ID, o.Moment).Scan(&name)
	return name, err
}

func (f fakeFinder) Matching(ctx context.Context, q db.Querier, who auth.Actor, _ string, filters []string,
	with map[string][]string, at []oid.OID,
) ([]bool, error) {
	yes := make([]bool, len(at))
	for i, o := range at {
		name, err := f.name(ctx, q, o)
		if err != nil {
			return nil, err
		}
		yes[i] = who.All || !strings.HasPrefix(name, "secret")
		for _, filter := range filters {
			want, isName := strings.CutPrefix(filter, "Name=")
			want = strings.Trim(want, "'")
			if values, ok := with[want]; ok {
				want = values[0]
			}
			if name == "poison!" {
				return nil, fmt.Errorf("cannot be evaluated")
			}
			yes[i] = yes[i] && (name == want || !isName)
		}
	}
	return yes, nil
}

func (f fakeFinder) Snapshot(ctx context.Context, q db.Querier, who auth.Actor, _ string, sel []string, at []oid.OID) ([]json.RawMessage, error) {
	rows := make([]json.RawMessage, len(at))
	for i, o := range at {
		name, err := f.name(ctx, q, o)
		if err != nil {
			return nil, err
		}
		row := map[string]any{"_oid": o.Now().String()}
		for _, s := range sel {
			row[s] = name
			if s == "Number" && name == "unreadable" {
				return nil, memory.NewBudget(1).Hold(0).Take(1)
			}
		}
		if rows[i], err = json.Marshal(row); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (fakeFinder) CheckDefinition(typ string, filters []string, with map[string][]string, sel, attributes []string) error {
	for _, all := range [][]string{filters, sel, attributes} {
		for _, token := range all {
			if at := strings.Index(token, "Nope"); at >= 0 {
				return fault.Invalidf(at, "Unknown AttributeDefinition: %s.Nope", typ)
			}
			if v := strings.Index(token, "$"); v >= 0 && with[token[v:]] == nil {
				return fault.Invalidf(v, "Unknown variable %s", token[v:])
			}
		}
	}
	return nil
}

// fakeActors returns the rights of members. Member:20 sees everything. Member:999 does not exist.
// Other members see one project, but fakeFinder hides from them the assets whose names begin with
// "secret".
type fakeActors struct{}

func (fakeActors) Steady(context.Context, int64, int64, int64) (bool, error) { return true, nil }

func (fakeActors) ActorAt(_ context.Context, member, _ int64) (auth.Actor, error) {
	if member == 999 {
		return auth.Actor{}, fault.NotFoundf("no such member")
	}
	if member == 20 {
		return auth.System, nil
	}
	return auth.Actor{Member: member, Scopes: []int64{0}}, nil
}
