package processes

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

func list(t *testing.T, d *db.DB) []Row {
	t.Helper()
	all, err := List(t.Context(), d, d.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAProcessIsSeenWhileItRuns(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		testdb.Exec(t, d, `DELETE FROM process`)
		slowest := NewSlowest(nil)
		slowest.Note(`{"from":"Story"}`, time.Second, 7)
		p := New(d, Self{Role: "api", Version: strings.Repeat("ü", 200), Host: "h\xff"}, slowest, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		if err := p.beat(ctx); err != nil {
			t.Fatal(err)
		}
		first := list(t, d)
		if err := p.beat(ctx); err != nil {
			t.Fatal(err)
		}
		all := list(t, d)
		if len(all) != 1 || all[0].ID != p.ID() || all[0].Role != "api" || all[0].Host != "h?" || len(all[0].Version) != 200 || !all[0].Alive {
			t.Fatalf("%+v", all)
		}
		if all[0].Started != first[0].Started || all[0].Seen <= first[0].Seen || all[0].Started > first[0].Seen {
			t.Errorf("started %d, then %d; seen %d, then %d", first[0].Started, all[0].Started, first[0].Seen, all[0].Seen)
		}
		slow, err := SlowQueries(ctx, d, d.Dialect)
		if err != nil || len(slow) != 1 || slow[0].Process != p.ID() || slow[0].Rows != 7 || slow[0].Slowest != time.Second || slow[0].At > all[0].Seen {
			t.Errorf("%+v %v", slow, err)
		}
		cancel()
		if err := p.Run(ctx); err != nil || len(list(t, d)) != 0 {
			t.Errorf("%v: after its end %+v", err, list(t, d))
		}
	})
}

func TestAProcessThatWasKilledIsForgotten(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		testdb.Exec(t, d, `DELETE FROM process`)
		for id, ago := range map[string]time.Duration{"now": 0, "skewed": -time.Hour, "lost": 2 * time.Minute, "gone": 61 * time.Minute} {
			testdb.Exec(t, d, `INSERT INTO process (id, role, version, host, started, seen, slow_queries) VALUES (?, ?, 'v', 'h', 1, `+d.Dialect.NowMicros+` - ?, ?)`,
				id, id, ago.Microseconds(), `[{"query":"`+id+`","slowest":5}]`)
		}
		testdb.Exec(t, d, `UPDATE process SET slow_queries = 'of another release' WHERE id = 'now'`)
		alive := map[string]bool{}
		for _, r := range list(t, d) {
			alive[r.ID] = r.Alive
		}
		if len(alive) != 3 || !alive["now"] || !alive["skewed"] || alive["lost"] {
			t.Errorf("alive: %v", alive)
		}
		if slow, err := SlowQueries(t.Context(), d, d.Dialect); err != nil || len(slow) != 2 {
			t.Errorf("%+v %v", slow, err)
		}
		if err := New(d, Self{}, nil, Options{}).beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM process WHERE id = 'gone'`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows of a process that is long gone: %v", n, err)
		}
	})
}

func TestProcessesAreCountedByRole(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		testdb.Exec(t, d, `DELETE FROM process`)
		registry := prometheus.NewRegistry()
		p := New(d, Self{}, nil, Options{Metrics: registry})
		measured := func() map[string]float64 {
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]float64{}
			for _, f := range families {
				all[strings.TrimPrefix(f.GetName(), "alds_processes_")] = f.GetMetric()[0].GetGauge().GetValue()
			}
			return all
		}
		for _, c := range []struct {
			roles []string
			want  map[string]float64
		}{
			{nil, map[string]float64{"apis": 0, "workers": 0, "schedulers": 0}},
			{[]string{"api", "api+worker", "of another release"}, map[string]float64{"apis": 2, "workers": 1, "schedulers": 0}},
			{[]string{"standalone"}, map[string]float64{"apis": 3, "workers": 2, "schedulers": 1}},
		} {
			for _, role := range c.roles {
				testdb.Exec(t, d, `INSERT INTO process (id, role, version, host, started, seen, slow_queries) VALUES (?, ?, 'v', 'h', 1, `+d.Dialect.NowMicros+`, '[]')`, role, role)
			}
			if err := p.count(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := measured(); !maps.Equal(got, c.want) {
				t.Errorf("with %v: %v, want %v", c.roles, got, c.want)
			}
		}
		testdb.Exec(t, d, `UPDATE process SET seen = seen - ?`, (2 * time.Minute).Microseconds())
		if err := p.count(t.Context()); err != nil || measured()["apis"] != 0 {
			t.Errorf("killed a while ago: %v %v", err, measured())
		}
		p.metrics.unknown()
		if got := measured(); len(got) != 0 {
			t.Errorf("while the database is away: %v", got)
		}
	})
}

func TestADatabaseThatIsAwayStopsNobody(t *testing.T) {
	d := testdb.SQLite(t)
	var log bytes.Buffer
	p := New(d, Self{Role: "worker"}, nil, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	testdb.Exec(t, d, `ALTER TABLE process RENAME TO away`)
	for range 3 {
		p.note(t.Context(), p.beat(t.Context()))
	}
	testdb.Exec(t, d, `ALTER TABLE away RENAME TO process`)
	p.note(t.Context(), p.beat(t.Context()))
	if text := log.String(); strings.Count(text, "WARN") != 1 || strings.Count(text, "INFO") != 1 || len(list(t, d)) != 1 {
		t.Errorf("%s%+v", text, list(t, d))
	}
}
