package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

const (
	pings  = 500 // measured round trips of one ping
	alone  = 100 // measured writes of each kind by a single client
	warmUp = 20  // unmeasured repetitions before either
)

// bench is one run.
type bench struct {
	o   options
	s   *site
	w   *world
	out io.Writer

	p      *proxy
	url    string // of the database, through the proxy
	pinger *db.DB
}

// newBench starts the proxy and connects to the database through it.
func newBench(ctx context.Context, o options, s *site, w *world, out io.Writer) (b *bench, err error) {
	b = &bench{o: o, s: s, w: w, out: out}
	to, err := hostOf(o.mysql)
	if err != nil {
		return nil, err
	}
	if b.p, err = newProxy(to); err != nil {
		return nil, err
	}
	if b.url, err = through(s.URL, b.p.Addr().String()); err == nil {
		b.pinger, err = db.Open(ctx, b.url, db.Options{MaxConns: 2})
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) close() error {
	b.s.stopAll()
	var err error
	if b.pinger != nil {
		err = b.pinger.Close()
	}
	return errors.Join(err, b.p.close())
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.out, format+"\n", args...) }

// ping sets the delay of each direction and returns the median round trip of a statement that
// does nothing.
func (b *bench) ping(ctx context.Context, delay time.Duration) (time.Duration, error) {
	b.p.setDelay(delay)
	var all []time.Duration
	for i := range pings + warmUp {
		took, err := b.trip(ctx)
		if err != nil {
			return 0, err
		}
		if i >= warmUp {
			all = append(all, took)
		}
	}
	return median(all), nil
}

// lengthen sets the delay of the proxy so that the round trip to the database is about rtt. It
// subtracts the round trip without a delay, and the time by which alarms are late.
func (b *bench) lengthen(ctx context.Context, rtt time.Duration) error {
	without, err := b.ping(ctx, 0)
	if err != nil {
		return err
	}
	delay, took := time.Duration(0), without
	for range 2 {
		delay = corrected(delay, rtt, took)
		if took, err = b.ping(ctx, delay); err != nil {
			return err
		}
	}
	b.say("round trip of %g ms asked for: %.2f ms without a delay; with %.3f ms in each direction %.2f ms", ms(rtt), ms(without), ms(delay), ms(took))
	return nil
}

func (b *bench) trip(ctx context.Context) (time.Duration, error) {
	var one int
	began := time.Now()
	err := b.pinger.QueryRow(ctx, "SELECT 1").Scan(&one)
	return time.Since(began), err
}

// run measures all rows.
func (b *bench) run(ctx context.Context) error {
	if err := b.tellMachine(ctx); err != nil {
		return err
	}
	var few []solo
	var rows []row
	for _, rtt := range b.o.rtts {
		if err := b.lengthen(ctx, rtt); err != nil {
			return err
		}
		some, all, err := b.way(ctx, rtt)
		if err != nil {
			return err
		}
		few, rows = append(few, some...), append(rows, all...)
	}
	b.tables(few, rows)
	return nil
}

// tellMachine prints the hardware and the settings of the database.
func (b *bench) tellMachine(ctx context.Context) error {
	var version, method, binlog, sync string
	var flush, pool, conns int64
	err := b.s.Admin.QueryRow(ctx, `SELECT VERSION(), @@GLOBAL.innodb_flush_log_at_trx_commit, COALESCE(@@GLOBAL.innodb_flush_method, ''),
		@@GLOBAL.innodb_buffer_pool_size, @@GLOBAL.log_bin, @@GLOBAL.sync_binlog, @@GLOBAL.max_connections`).
		Scan(&version, &flush, &method, &pool, &binlog, &sync, &conns)
	if err != nil {
		return err
	}
	commit, err := b.commit(ctx)
	if err != nil {
		return err
	}
	b.say("%d processors, %s, load %s", runtime.NumCPU(), runtime.Version(), rig.Load())
	b.say("database %s: innodb_flush_log_at_trx_commit %d, innodb_flush_method %s, innodb_buffer_pool_size %d MiB, log_bin %s, sync_binlog %s, max_connections %d",
		version, flush, method, pool>>20, binlog, sync, conns)
	b.say("%d stories in %d projects; a change of one row, committed, takes %.2f ms without the proxy", b.o.stories, projects, ms(commit))
	return nil
}

// commit returns the median time of a change of one row, including its commit, without the
// proxy.
func (b *bench) commit(ctx context.Context) (time.Duration, error) {
	table := "`" + b.s.Name + "`.bench_commit"
	for _, do := range []string{"CREATE TABLE " + table + " (id INT PRIMARY KEY, n INT)", "INSERT INTO " + table + " VALUES (1, 0)"} {
		if _, err := b.s.Admin.Exec(ctx, do); err != nil {
			return 0, err
		}
	}
	took := make([]time.Duration, pings)
	for i := range took {
		began := time.Now()
		if _, err := b.s.Admin.Exec(ctx, "UPDATE "+table+" SET n = n + 1"); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	_, err := b.s.Admin.Exec(ctx, "DROP TABLE "+table)
	return median(took), err
}

// way measures everything for one round trip.
func (b *bench) way(ctx context.Context, rtt time.Duration) (few []solo, rows []row, err error) {
	for i, n := range b.o.apis {
		addrs, err := b.s.startAll(ctx, n, b.url)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			if few, err = b.soloists(ctx, addrs, rtt); err != nil {
				return nil, nil, err
			}
		}
		for _, clients := range b.o.clients {
			r, err := b.row(ctx, addrs, clients)
			if err != nil {
				return nil, nil, err
			}
			r.rtt, r.apis = rtt, n
			rows = append(rows, r)
		}
		b.s.stopAll()
	}
	return few, rows, nil
}

// solo is the result of one kind of write by a single client.
type solo struct {
	rtt               time.Duration
	kind              string
	statements, trips []int64
	took              time.Duration
}

// soloists measures the writes of a single client.
func (b *bench) soloists(ctx context.Context, addrs []string, rtt time.Duration) (few []solo, err error) {
	one, err := newClients(addrs[:1], b.w, 1)
	if err != nil {
		return nil, err
	}
	defer closeAll(one)
	for _, k := range kinds[b.o.work] {
		s := solo{rtt: rtt, kind: k.name}
		var took []time.Duration
		for i := -warmUp; i < alone && ctx.Err() == nil; i++ {
			before := b.p.counts.now()
			w, err := one[0].write(b.w, k)
			if err != nil {
				return nil, err
			}
			if sent := b.p.counts.now().minus(before); i >= 0 {
				s.statements, s.trips, took = append(s.statements, sent.statements), append(s.trips, sent.trips), append(took, w.took)
			}
		}
		s.took = median(took)
		few = append(few, s)
	}
	return few, ctx.Err()
}

// row is a row of the table.
type row struct {
	rtt           time.Duration
	apis, clients int
	result
	loaded time.Duration // round trip during the load
	used   usage
}

// row measures this number of clients.
func (b *bench) row(ctx context.Context, addrs []string, clients int) (row, error) {
	all, err := newClients(addrs, b.w, clients)
	if err != nil {
		return row{}, err
	}
	defer closeAll(all)
	length := time.Duration(b.o.seconds * float64(time.Second))
	from := time.Now().Add(length / 4)
	to := from.Add(length)
	r := row{clients: clients}
	watched := make(chan error, 1)
	go func() { watched <- b.watch(ctx, from, to, &r) }()
	done, err := crowd(ctx, all, b.w, kinds[b.o.work], to)
	if failed := <-watched; err == nil {
		err = failed
	}
	r.result = summed(done, from, to)
	return r, err
}

// watch measures the round trip and the processor usage between two times.
func (b *bench) watch(ctx context.Context, from, to time.Time, r *row) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(from) && ctx.Err() == nil {
		<-tick.C
	}
	began, before := time.Now(), b.usedSoFar(ctx)
	var trips []time.Duration
	for time.Now().Before(to) && ctx.Err() == nil {
		took, err := b.trip(ctx)
		if err != nil {
			return err
		}
		trips = append(trips, took)
		<-tick.C
	}
	r.loaded, r.used = median(trips), b.usedSoFar(ctx).since(before, time.Since(began))
	return ctx.Err()
}

// usage is processor time in seconds. After since it is the number of processors that were
// used.
type usage struct{ apis, database, bench float64 }

func (b *bench) usedSoFar(ctx context.Context) usage {
	return usage{b.s.CPU().Seconds(), b.s.DatabaseCPU(ctx).Seconds(), rig.CPU(os.Getpid()).Seconds()}
}

func (u usage) since(v usage, d time.Duration) usage {
	s := d.Seconds()
	return usage{(u.apis - v.apis) / s, (u.database - v.database) / s, (u.bench - v.bench) / s}
}

// tables prints the results.
func (b *bench) tables(few []solo, rows []row) {
	b.say("\n| One client alone: round trip, ms | write | statements, median (mean) | round trips, median (mean) | p50 ms |\n|---|---|---|---|---|")
	for _, s := range few {
		b.say("| %g | %s | %d (%.1f) | %d (%.1f) | %.2f |", ms(s.rtt), s.kind, median(s.statements), mean(s.statements), median(s.trips), mean(s.trips), ms(s.took))
	}
	b.say("\n| Round trip, ms | measured beside | apis | clients | %s writes/s | ratio | p50 ms | p99 ms | refused | processors: apis, database, bench |\n|---|---|---|---|---|---|---|---|---|---|", b.o.work)
	var first row // first row with the same round trip
	for i, r := range rows {
		if i == 0 || r.rtt != first.rtt {
			first = r
		}
		b.say("| %g | %.2f | %d | %d | %.0f | %.2f | %.2f | %.2f | %d | %.2f, %.2f, %.2f |", ms(r.rtt), ms(r.loaded), r.apis, r.clients,
			r.rate, r.rate/first.rate, ms(at(r.took, .5)), ms(at(r.took, .99)), r.failed, r.used.apis, r.used.database, r.used.bench)
	}
	b.say("\nThe ratio is to the first row of the same round trip. load %s", rig.Load())
}
