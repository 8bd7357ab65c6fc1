package bulk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// members is a fake of bulk.Actors. It returns the system member for every id. If deleted is
// true, no member exists. If barred is true, no member may log in.
type members struct{ deleted, barred bool }

func (m members) MayLogin(context.Context, int64) (bool, error) { return !m.barred, nil }

func (m members) ActorWithin(context.Context, int64, *auth.Bounds) (auth.Actor, error) {
	if m.deleted {
		return auth.Actor{}, fault.NotFoundf("no such member")
	}
	return auth.System, nil
}

func (members) Watch(ctx context.Context, _ auth.Login, _ auth.Actor) (context.Context, func()) {
	return ctx, func() {}
}

// process is an Async with a separate engine, as in a separate process. accepted counts the calls
// of onAccepted.
type process struct {
	t testing.TB
	d *db.DB
	*bulk.Async
	accepted int
}

func newProcess(t testing.TB, d *db.DB) *process {
	k := &process{t: t, d: d}
	k.Async = bulk.NewAsync(engine(t, d), members{}, func(string) { k.accepted++ }, slog.New(slog.DiscardHandler))
	return k
}

func (k *process) accept(body string, r bulk.Request) bulk.Accepted {
	k.t.Helper()
	r.Body = []byte(body)
	a, err := k.Accept(k.t.Context(), auth.System, r)
	if err != nil {
		k.t.Fatal(err)
	}
	return a
}

func (k *process) executeWaiting() {
	k.t.Helper()
	if err := k.ExecuteWaiting(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
}

// response has the fields of a response object that the tests check.
type response struct {
	RequestID            string
	Complete, Processing bool
	Progress             struct {
		State    string
		Commands int
	}
	AssetsCreated   struct{ Count int }
	CommandFailures struct{ Count int }
}

func (k *process) progress(id string) (r response) {
	k.t.Helper()
	b, err := k.Progress(k.t.Context(), auth.System, id)
	if err != nil {
		k.t.Fatal(err)
	}
	return parsed(k.t, b)
}

func parsed(t testing.TB, b []byte) (r response) {
	t.Helper()
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return r
}

func (k *process) count(statement string, args ...any) (n int) {
	k.t.Helper()
	if err := k.d.QueryRow(k.t.Context(), statement, args...).Scan(&n); err != nil {
		k.t.Fatal(err)
	}
	return n
}

func (k *process) stories() int {
	return k.count(`SELECT COUNT(*) FROM asset WHERE name = 'S'`)
}

const story = `{"AssetType":"Story","Name":"S","Scope":"Scope:0"}`

func TestAcceptedRequestIsExecutedOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		a := k.accept("["+story+","+story+`,{"from":"Story","select":["Name"]}]`, bulk.Request{Comment: "spring"})
		if r := parsed(t, a.Body); a.Done || r.RequestID != a.ID || r.Complete || !r.Processing || r.Progress.State != "waiting" || r.Progress.Commands != 3 {
			t.Errorf("accepted with %s", a.Body)
		}
		if k.accepted != 1 || k.stories() != 0 {
			t.Errorf("accepted called %d times, %d stories before the execution", k.accepted, k.stories())
		}
		other := newProcess(t, d)
		other.executeWaiting()
		k.executeWaiting()
		if r := k.progress(a.ID); !r.Complete || r.Processing || r.AssetsCreated.Count != 2 || r.RequestID != a.ID {
			t.Errorf("the result: %+v", r)
		}
		if k.stories() != 2 || k.count(`SELECT COUNT(*) FROM audit WHERE request_id = ? AND comment = 'spring'`, a.ID) != 1 {
			t.Errorf("%d stories", k.stories())
		}
	})
}

func TestExecuteReturnsTheStateOfOneRequest(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		first, second := k.accept(story, bulk.Request{}), k.accept("["+story+","+story+"]", bulk.Request{})
		for range 2 { // the second call finds that the request is done
			if s, err := k.Execute(t.Context(), second.ID); err != nil || !s.Done || s.Commands != 2 || k.stories() != 2 {
				t.Errorf("the state: %+v %v, %d stories", s, err, k.stories())
			}
		}
		if r := k.progress(first.ID); r.Complete {
			t.Errorf("the other request: %+v", r)
		}
		if _, err := k.Execute(t.Context(), "00000000-0000-0000-0000-000000000000"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("no request: %v", err)
		}
	})
}

func TestProgressIsForWhoSentIt(t *testing.T) {
	k := newProcess(t, testdb.SQLite(t))
	id := k.accept(story, bulk.Request{}).ID
	for who, want := range map[*auth.Actor]fault.Kind{
		{Member: 4711, All: true}:   fault.NotFound,
		{Member: 4711, Admin: true}: fault.Internal,
	} {
		if _, err := k.Progress(t.Context(), *who, id); fault.KindOf(err) != want && (err != nil || want != fault.Internal) {
			t.Errorf("%+v: %v", who, err)
		}
	}
	for _, unknown := range []string{"", "x", "00000000-0000-0000-0000-000000000000", id + "'"} {
		if _, err := k.Progress(t.Context(), auth.System, unknown); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", unknown, err)
		}
	}
}

// An asynchronous execution uses the options of the request.
func TestAcceptedOptionsHold(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		preview := k.accept(story, bulk.Request{Preview: true})
		reads := k.accept(`{"from":"Story"}`, bulk.Request{Key: "reads"})
		atomic := k.accept("["+story+`,{"AssetType":"Story"}]`, bulk.Request{Atomic: true})
		yaml, err := k.Accept(t.Context(), auth.System, bulk.Request{Body: []byte("AssetType: Story\nName: Y\nScope: Scope:0\n"), YAML: true})
		if err != nil {
			t.Fatal(err)
		}
		k.executeWaiting()
		b, err := k.Progress(t.Context(), auth.System, preview.ID)
		if err != nil || b[0] != '[' {
			t.Errorf("preview: %s, %v", b, err)
		}
		if r := k.progress(reads.ID); !r.Complete {
			t.Errorf("a query: %+v", r)
		}
		if r := k.progress(atomic.ID); r.AssetsCreated.Count != 0 || r.CommandFailures.Count != 1 {
			t.Errorf("atomic: %+v", r)
		}
		if r := k.progress(yaml.ID); r.AssetsCreated.Count != 1 {
			t.Errorf("YAML: %+v", r)
		}
		if k.stories() != 0 {
			t.Errorf("%d stories of a preview and an atomic request that failed", k.stories())
		}
	})
}

func TestAcceptedUnderAKey(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		first := k.accept(story, bulk.Request{Key: "k"})
		if again := k.accept(story, bulk.Request{Key: "k"}); again.ID != first.ID || again.Done {
			t.Errorf("the same key: %+v", again)
		}
		if _, err := k.Accept(t.Context(), auth.System, bulk.Request{Body: []byte("[" + story + "]"), Key: "k"}); fault.KindOf(err) != fault.Conflict {
			t.Errorf("another body: %v", err)
		}
		k.executeWaiting()
		again := k.accept(story, bulk.Request{Key: "k"})
		if r := parsed(t, again.Body); !again.Done || !r.Complete || r.RequestID != first.ID {
			t.Errorf("the same key when it is done: %s", again.Body)
		}
		e := engine(t, d)
		b, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(story), Key: "k"})
		if err != nil || parsed(t, b).RequestID != first.ID {
			t.Errorf("sent again without respond-async: %s, %v", b, err)
		}
		k.executeWaiting()
		if k.stories() != 1 {
			t.Errorf("%d stories", k.stories())
		}
	})
}

// If parsing refuses a whole request, Accept returns the error. If the execution refuses it,
// Progress returns the error.
func TestAcceptedRequestIsRefused(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		for body, moment := range map[string]int64{"7": 0, "{": 0, "[" + story + "]": 7} {
			if _, err := k.Accept(t.Context(), auth.System, bulk.Request{Body: []byte(body), IfMoment: moment}); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: %v", body, err)
			}
		}
		e := engine(t, d)
		e.MaxAssets = 2
		small := bulk.NewAsync(e, members{}, nil, slog.New(slog.DiscardHandler))
		many := k.accept("["+story+","+story+","+story+"]", bulk.Request{})
		if err := small.ExecuteWaiting(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := k.Progress(t.Context(), auth.System, many.ID)
		if fault.KindOf(err) != fault.Invalid || fault.Public(err) != "The request touches more than 2 assets." {
			t.Errorf("more than it may: %v", err)
		}
		left := k.accept(story, bulk.Request{})
		deleted := bulk.NewAsync(engine(t, d), members{deleted: true}, nil, slog.New(slog.DiscardHandler))
		if err := deleted.ExecuteWaiting(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Progress(t.Context(), auth.System, left.ID); fault.KindOf(err) != fault.Unproven {
			t.Errorf("of a deleted member: %v", err)
		}
		left = k.accept(story, bulk.Request{})
		barred := bulk.NewAsync(engine(t, d), members{barred: true}, nil, slog.New(slog.DiscardHandler))
		if err := barred.ExecuteWaiting(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Progress(t.Context(), auth.System, left.ID); fault.KindOf(err) != fault.Unproven || fault.Public(err) != "The member may no longer log in" {
			t.Errorf("of a member who may not log in any more: %v", err)
		}
		if k.stories() != 0 {
			t.Errorf("%d stories", k.stories())
		}
	})
}

// stall is a finder that waits within a request. It sends to reached, and continues when goOn
// is closed.
type stall struct {
	*find.Finder
	reached, goOn chan struct{}
}

func (s stall) Answer(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, w []byte) (rows, info []byte, err error) {
	s.reached <- struct{}{}
	<-s.goOn
	return s.Finder.Answer(ctx, q, who, r, w)
}

func newStall(t testing.TB, d *db.DB) (stall, *bulk.Async) {
	t.Helper()
	model := meta.Default()
	s := stall{find.New(d, model), make(chan struct{}, 1), make(chan struct{})}
	e := bulk.New(asset.New(d, model, nil, nil), s)
	return s, bulk.NewAsync(e, members{}, nil, slog.New(slog.DiscardHandler))
}

// A worker that stalls within a request loses its lease. Its later writes have no effect, and
// another worker executes the request once.
func TestTakenOverInTheMiddle(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		a := k.accept("["+story+`,{"from":"Story"},`+story+"]", bulk.Request{})
		s, slow := newStall(t, d)
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := slow.ExecuteWaiting(context.Background()); err != nil {
				t.Error(err)
			}
		})
		<-s.reached
		if r := k.progress(a.ID); r.Progress.State != "processing" {
			t.Errorf("in the middle: %+v", r)
		}
		takeOver(t, d)
		var took sync.WaitGroup
		took.Go(k.executeWaiting) // waits for the locks of the first worker, or for its turn to write
		close(s.goOn)
		wait.Wait()
		took.Wait()
		k.executeWaiting()
		if r := k.progress(a.ID); !r.Complete || r.AssetsCreated.Count != 2 {
			t.Errorf("the result: %+v", r)
		}
		if n := k.stories(); n != 2 {
			t.Errorf("%d stories: done %d times", n, n/2)
		}
	})
}

// A worker releases its request when it stops.
func TestHandedBackAtTheEnd(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		a := k.accept("["+story+`,{"from":"Story"}]`, bulk.Request{})
		s, slow := newStall(t, d)
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := slow.ExecuteWaiting(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		<-s.reached
		stop()
		close(s.goOn)
		wait.Wait()
		if k.stories() != 0 || k.progress(a.ID).Progress.State != "waiting" {
			t.Errorf("after the stop: %d stories, %+v", k.stories(), k.progress(a.ID))
		}
		k.executeWaiting()
		if k.stories() != 1 || !k.progress(a.ID).Complete {
			t.Errorf("executed by the next: %d stories", k.stories())
		}
	})
}

// Many workers execute many requests, each request once.
func TestManyWorkers(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		const requests, workers = 20, 4
		k := newProcess(t, d)
		ids := make([]string, requests)
		for i := range ids {
			ids[i] = k.accept(fmt.Sprintf("[%s,%s]", story, story), bulk.Request{}).ID
		}
		var wait sync.WaitGroup
		for range workers {
			w := newProcess(t, d)
			wait.Go(w.executeWaiting)
		}
		wait.Wait()
		k.executeWaiting()
		for _, id := range ids {
			if r := k.progress(id); !r.Complete || r.AssetsCreated.Count != 2 {
				t.Errorf("%+v", r)
			}
		}
		if k.stories() != 2*requests {
			t.Errorf("%d stories", k.stories())
		}
	})
}

// takeOver ends the lease of the claimed request, as if its worker had died. On SQLite it does
// nothing.
func takeOver(t *testing.T, d *db.DB) {
	t.Helper()
	if d.Dialect.SmallInside { // otherwise the open transaction of the worker would block the update
		if _, err := d.Exec(t.Context(), `UPDATE bulk_request SET lease = 0 WHERE status = 0`); err != nil {
			t.Fatal(err)
		}
	}
}

// A process executes one request at a time. If a request crashes the process, only this request
// loses its claim.
func TestOneRequestAtATime(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		k.accept("["+story+`,{"from":"Story"}]`, bulk.Request{})
		second := k.accept(story, bulk.Request{})
		s, slow := newStall(t, d)
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := slow.ExecuteWaiting(context.Background()); err != nil {
				t.Error(err)
			}
		})
		<-s.reached
		ctx, stop := context.WithCancel(t.Context())
		wait.Go(func() {
			if _, err := slow.Execute(ctx, second.ID); !errors.Is(err, context.Canceled) {
				t.Errorf("beside the first one: %v", err)
			}
		})
		stop()
		close(s.goOn)
		wait.Wait()
		if n := k.count(`SELECT COUNT(*) FROM bulk_request WHERE claims > 1`); n > 0 || k.stories() != 2 {
			t.Errorf("%d stories, %d claimed more than once", k.stories(), n)
		}
	})
}

// The memory budget includes the body of an accepted request, and the rows of its queries.
func TestAcceptedRequestsHaveTheirMemory(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		k.accept(`{"AssetType":"Story","Name":"S","Scope":"Scope:0","Description":"`+strings.Repeat("x", 3<<20)+`"}`, bulk.Request{})
		k.executeWaiting()
		k.Memory = memory.NewBudget(4 << 20)
		for what, body := range map[string]string{
			"rows": `{"from":"Story","select":["Description"]}`,
			"body": `{"AssetType":"Story","Name":"S","Scope":"Scope:0","Order":[` + strings.Repeat("1,", 10_000) + `1]}`,
		} {
			a := k.accept(body, bulk.Request{})
			k.executeWaiting()
			answer, err := k.Progress(t.Context(), auth.System, a.ID) // lists the command of a refused query as failed
			if !strings.Contains(string(answer)+fmt.Sprint(err), "needs more memory") {
				t.Errorf("%s: %.200s, %v", what, answer, err)
			}
		}
		if used, _ := k.Memory.Used(); used != 0 {
			t.Errorf("%d bytes are still reserved", used)
		}
	})
}

// A request that takes too long is executed a second time, and then refused.
func TestAcceptedRequestsHaveTheirTime(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		k := newProcess(t, d)
		k.Timeout = time.Nanosecond
		a := k.accept(story, bulk.Request{})
		k.executeWaiting()
		if r := k.progress(a.ID); r.Progress.State != "waiting" {
			t.Errorf("after the first time: %+v", r)
		}
		if _, err := d.Exec(t.Context(), `UPDATE bulk_request SET lease = 0 WHERE status = 0`); err != nil {
			t.Fatal(err)
		}
		k.executeWaiting()
		_, err := k.Progress(t.Context(), auth.System, a.ID)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "took too long") || k.stories() != 0 {
			t.Errorf("after the second time: %v", err)
		}
	})
}
