package system

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// service returns a service that runs fn as its check.
func service(d *db.DB, fn Checking) *Service {
	s := New(d, Options{
		Version: "v1", Commit: "c129", Process: "p1", Check: fn,
		Work: func(context.Context, db.Querier) (Work, error) {
			return Work{WaitingChanges: lease.Backlog{Count: 3, Oldest: 1_000_000}, Paused: 2}, nil
		},
		Queue: func(context.Context) (Tasks, error) { return Tasks{Pending: 1, Retry: 2, Archived: 9}, nil },
	})
	s.tellEvery = 50 * time.Millisecond
	return s
}

// must returns v. It panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func reset(t *testing.T, d *db.DB) {
	t.Helper()
	if _, err := d.Exec(t.Context(), `UPDATE system_check SET state = 0, began = 0, ended = 0, begun_by = 0, lease = 0, findings = NULL`); err != nil {
		t.Fatal(err)
	}
}

// run runs a service until the returned function is called.
func run(t *testing.T, s *Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// await waits until the check has the given state, and returns the state with all its fields.
func await(t *testing.T, s *Service, state string) State {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if got := must(s.Check(t.Context(), auth.System)); got.State == state {
			return got
		}
	}
	t.Fatalf("the check is not %s: %+v", state, must(s.Check(t.Context(), auth.System)))
	return State{}
}

func TestStatus(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		s := service(d, nil)
		st := must(s.Status(t.Context(), auth.System))
		if st.Work.WaitingChanges.Count != 3 || *st.Work.WaitingChanges.Oldest != "1970-01-01T00:00:01.0000000Z" || st.Work.DueDeliveries.Oldest != nil || st.Work.PausedSubscriptions != 2 {
			t.Errorf("%+v", st.Work)
		}
		if !st.Queue.Reachable || *st.Queue.Depth != 3 || st.Schema.Version != st.Schema.Expected || st.Schema.Version < 112 {
			t.Errorf("%+v %+v", st.Queue, st.Schema)
		}
		if st.Version != "v1" || *st.Commit != "c129" || st.CommitDate != nil {
			t.Errorf("version %s, commit %v, date of the commit %v", st.Version, st.Commit, st.CommitDate)
		}
		if len(st.Links) != 0 || st.Processes == nil || st.SlowQueries == nil || !strings.ContainsAny(st.Database.Server, "0123456789") {
			t.Errorf("%+v", st)
		}
		s.o.Queue = func(ctx context.Context) (Tasks, error) { <-ctx.Done(); return Tasks{}, ctx.Err() }
		s.o.Dashboards = "https://x"
		if st = must(s.Status(t.Context(), auth.System)); st.Queue.Reachable || st.Queue.Depth != nil || len(st.Links) != 1 {
			t.Errorf("while the queue does not answer: %+v", st)
		}
	})
}

func TestOnlyAdministratorsAsk(t *testing.T) {
	s := service(testdb.SQLite(t), nil)
	who := auth.Actor{Member: 1001, All: true}
	_, status := s.Status(t.Context(), who)
	_, start := s.Start(t.Context(), who)
	_, state := s.Check(t.Context(), who)
	for _, err := range []error{status, start, state} {
		if fault.KindOf(err) != fault.Denied {
			t.Errorf("%v", err)
		}
	}
}

func TestACheckTellsHowFarItIs(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		reset(t, d)
		found := make([]check.Finding, 2*maxFindings)
		for i := range found {
			found[i] = check.Finding{Check: "links", Table: "asset_link", ID: int64(i), Text: "ü<b>"}
		}
		goOn := make(chan struct{})
		s := service(d, func(ctx context.Context, at func(check.Step)) ([]check.Finding, error) {
			for i := range 100 {
				at(check.Step{Name: "links", Done: i, Found: found[:1]})
			}
			<-goOn
			return found, nil
		})
		defer run(t, s)()
		if got := must(s.Check(t.Context(), auth.System)); got.State != "never" || got.Began != nil || got.Findings == nil || got.By != "" {
			t.Errorf("before: %+v", got)
		}
		if got := must(s.Start(t.Context(), auth.System)); got.State != "running" || got.Began == nil || got.Of != check.Steps()+1 || got.By != "Member:20" {
			t.Errorf("started: %+v", got)
		}
		other := service(d, nil) // acts as another process
		if _, err := other.Start(t.Context(), auth.System); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a second check at the same time: %v", err)
		}
		for got := (State{}); got.Step == ""; {
			if got = must(other.Check(t.Context(), auth.System)); got.Step != "" && (got.Done != 99 || len(got.Findings) != 1) {
				t.Errorf("while the check runs: %+v", got)
			}
		}
		close(goOn)
		if got := await(t, other, "done"); got.Done != got.Of || len(got.Findings) != maxFindings || got.Ended == nil || got.Findings[7].ID != 7 || got.Step != "" {
			t.Errorf("done: %+v", got)
		}
	})
}

func TestACheckEndsInOrder(t *testing.T) {
	d := testdb.SQLite(t)
	for _, c := range []struct {
		check Checking
		state string
		why   string
	}{
		{func(context.Context, func(check.Step)) ([]check.Finding, error) {
			return nil, fault.Transientf(nil, "no database")
		}, "failed", "no database"},
		{func(context.Context, func(check.Step)) ([]check.Finding, error) { return nil, errors.New("secret") }, "failed", ""},
		{func(context.Context, func(check.Step)) ([]check.Finding, error) { panic("worse") }, "failed", ""},
	} {
		reset(t, d)
		s := service(d, c.check)
		stop := run(t, s)
		must(s.Start(t.Context(), auth.System))
		if got := await(t, s, c.state); c.why != "" && got.Error != c.why || strings.Contains(got.Error, "secret") || got.Error == "" {
			t.Errorf("%+v", got)
		}
		must(s.Start(t.Context(), auth.System)) // a failed check can be started again
		await(t, s, c.state)
		stop()
	}
}

func TestAProcessThatStopsBreaksItsCheckOff(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		reset(t, d)
		s := service(d, func(ctx context.Context, _ func(check.Step)) ([]check.Finding, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		stop := run(t, s)
		must(s.Start(t.Context(), auth.System))
		stop()
		if got := must(s.Check(t.Context(), auth.System)); got.State != "broken off" || got.Ended == nil {
			t.Errorf("%+v", got)
		}
	})
}

// TestAProcessThatStopsBreaksOffWhatWaits checks a process that stops before its check has begun.
// This check must also be broken off.
func TestAProcessThatStopsBreaksOffWhatWaits(t *testing.T) {
	d := testdb.SQLite(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for range 20 { // Run chooses randomly whether it sees the end of ctx or the check first
		reset(t, d)
		s := service(d, func(ctx context.Context, _ func(check.Step)) ([]check.Finding, error) { return nil, ctx.Err() })
		must(s.Start(t.Context(), auth.System))
		if err := s.Run(stopped); err != nil {
			t.Fatal(err)
		}
		if got := must(s.Check(t.Context(), auth.System)); got.State != "broken off" || got.Ended == nil {
			t.Errorf("%+v", got)
		}
	}
}

// TestADeadProcessLosesItsCheck checks that a check whose lease has expired is broken off. If its
// process is only slow, the process must stop this check when another check starts.
func TestADeadProcessLosesItsCheck(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		reset(t, d)
		gaveUp := make(chan struct{})
		s := service(d, func(ctx context.Context, _ func(check.Step)) ([]check.Finding, error) {
			<-ctx.Done()
			close(gaveUp)
			return nil, ctx.Err()
		})
		defer run(t, s)()
		must(s.Start(t.Context(), auth.System))
		if _, err := d.Exec(t.Context(), `UPDATE system_check SET lease = `+d.Dialect.NowMicros+` - 1`); err != nil {
			t.Fatal(err)
		}
		other := service(d, func(context.Context, func(check.Step)) ([]check.Finding, error) { return nil, nil })
		if got := must(other.Check(t.Context(), auth.System)); got.State != "broken off" || got.Ended == nil {
			t.Errorf("after the lease has expired: %+v", got)
		}
		must(other.Start(t.Context(), auth.System))
		<-gaveUp
		defer run(t, other)()
		await(t, other, "done")
	})
}
