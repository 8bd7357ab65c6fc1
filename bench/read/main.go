// Command read compares the reads of alds with a floor of hand-written SQL.
//
//	go run ./bench/read                     100,000 assets, five versions each
//	go run ./bench/read -assets 1000000     the same at ten times the size
//	go run ./bench/read -only page -explain the statements of some rows, and their plans
//	go run ./bench/read -custom             custom attributes compared with built-in attributes
//	go run ./bench/read -first              the very first request of the feed of changes
//
// It makes a database on MariaDB or MySQL and fills its tables directly. Each row of the table
// is one piece of work that both sides do on the same data. One side is the whole service,
// over HTTP. The other side is the floor: hand-written SQL and hand-appended JSON in a bare
// fiber handler.
//
// Before the measurement, the bench checks that both sides answer the same bytes. Both run in
// one process, so other load of the machine affects both. With one client, requests alternate
// between the sides. With eight clients, the sides have the machine to themselves in
// alternating windows; the table has the median window.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// options are the values of the flags.
type options struct {
	mysql, redis, only, profile string

	assets, versions, rounds int
	// pool is innodb_buffer_pool_size in MB during the run; 0: unchanged.
	pool                  int64
	budget, window        time.Duration
	keep, explain, custom bool
	first                 bool
}

func main() { rig.Main("read", run) }

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("read", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server the database is made on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/0", "queue of the service; reads do not use it")
	f.StringVar(&o.only, "only", "", "measure only the rows whose name contains this text")
	f.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the service under eight clients to this file")
	f.IntVar(&o.assets, "assets", 100_000, "assets in the database")
	f.IntVar(&o.versions, "versions", 5, "versions of each asset")
	f.IntVar(&o.rounds, "rounds", 5, "windows of each side with eight clients")
	f.Int64Var(&o.pool, "pool", 0, "set innodb_buffer_pool_size to this many MB while it runs")
	f.DurationVar(&o.budget, "budget", 3*time.Second, "time for each row with one client")
	f.DurationVar(&o.window, "window", 500*time.Millisecond, "time of one window with eight clients")
	f.BoolVar(&o.keep, "keep", false, "leave the database for another run")
	f.BoolVar(&o.explain, "explain", false, "print statements and their plans in place of times")
	f.BoolVar(&o.custom, "custom", false, "measure queries by custom attributes of as many stories as -assets, on the server and on SQLite, in place of the table")
	f.BoolVar(&o.first, "first", false, "measure the very first request of the feed of changes, instead of the table")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.assets < 20_000 || o.versions < 1 || o.rounds < 1 {
		return o, fmt.Errorf("-assets is at least 20000, -versions and -rounds at least 1")
	}
	if o.first && o.keep {
		return o, fmt.Errorf("-first writes, so its database cannot be kept")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	if o.custom {
		return custom(ctx, o, out)
	}
	d, err := openStore(ctx, o, out)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := d.close(out); err == nil {
			err = cerr
		}
	}()
	l := newLayout(o)
	if err := d.fill(ctx, l, out); err != nil {
		return err
	}
	if o.first {
		return first(ctx, o, d, l, out)
	}
	rows := selected(works(l), o.only)
	if o.explain {
		return explain(ctx, d.DB, rows, out)
	}
	s, err := serve(ctx, d, rows)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := position(s); err != nil {
		return err
	}
	if err := agree(s, rows); err != nil {
		return err
	}
	return measure(ctx, o, s, rows, out)
}

// selected returns the rows whose name contains text.
func selected(all []work, text string) []work {
	var some []work
	for _, w := range all {
		if strings.Contains(w.name, text) {
			some = append(some, w)
		}
	}
	return some
}
