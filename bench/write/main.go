// Command write compares the writes of alds with a floor of hand-written SQL.
//
//	go run ./bench/write                 every row, five repetitions each
//	go run ./bench/write -only creates   the rows whose name contains this text
//	go run ./bench/write -sqlite a.db    single writes on SQLite, by one client and by many
//
// It makes a database on MariaDB or MySQL. Each row of the table is one piece of work that
// both sides do in turn in the same tables. The service runs in this process and receives POST
// api/asset. The floor has the multi-row or set-based statements that a person would write for
// this work alone. They are sent from Go without HTTP, JSON or any check.
//
// Before the measurement, the bench checks that both sides leave the same rows in the same
// tables. Both sides commit with the same durability. The table has medians. In one row, the floor is the
// same request by System Admin; it shows the cost of a Team Member's rights.
//
// A write must not keep the row of the moments locked until its commit. Otherwise all writers
// would wait for each other's disk writes. Single writes therefore have two floors. The first
// floor reserves the moment in a separate short transaction, like alds. The second floor does
// everything in one transaction, which has weaker guarantees than alds must have.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// options are the values of the flags.
type options struct {
	mysql, redis, sqlite, only, profile string

	goes, singles, scale int
	window               time.Duration
}

func main() { rig.Main("write", run) }

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("write", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server the database is made on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/0", "queue of the service")
	f.StringVar(&o.sqlite, "sqlite", "", "measure single writes on this file of SQLite, in place of the table")
	f.StringVar(&o.only, "only", "", "measure only the rows whose name contains this text")
	f.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the service's side to this file")
	f.IntVar(&o.goes, "goes", 5, "repetitions of each large piece of work, and number of windows for many writers")
	f.IntVar(&o.singles, "singles", 300, "how often each side does each small piece of work")
	f.IntVar(&o.scale, "scale", 1000, "stories of an update or a delete; a creation makes ten times as many")
	f.DurationVar(&o.window, "window", time.Second, "time of one window of many writers")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.goes < 1 || o.singles < 1 || o.scale < 10 {
		return o, fmt.Errorf("-goes and -singles are at least 1, -scale at least 10")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	if o.sqlite != "" {
		return measureFile(ctx, o, out)
	}
	d, err := rig.Open(ctx, o.mysql, o.redis, fmt.Sprintf("alds_bench_write_%d", os.Getpid()), false)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := d.Close(); err == nil {
			err = cerr
		}
	}()
	service, err := rig.Serve(ctx, d)
	if err != nil {
		return err
	}
	defer service.Stop()
	s, err := newSides(ctx, d, service.Addr)
	if err != nil {
		return err
	}
	defer s.close()
	var rows []work
	for _, w := range works(o) {
		if strings.Contains(w.name, o.only) {
			rows = append(rows, w)
		}
	}
	if err := agree(ctx, s, rows); err != nil {
		return err
	}
	return measure(ctx, o, s, rows, out)
}
