// Command hooks measures how fast changes reach webhook receivers, with real processes on
// MariaDB and Redis. It compares the rates with two floors that it measures in the same run: a
// bare client that posts the same bodies, and asynq with one POST in each task.
//
//	go run ./bench/hooks                 all default steps, about two minutes
//	go run ./bench/hooks -only batch,isolation
//	go run ./bench/hooks -soak 15m       only this: checks that nothing grows without a bound
//	go run ./bench/hooks -only restart   a worker starts with a backlog
//	go run ./bench/hooks -only slow      receivers that answer after up to 5 s
//
// It makes a database and drops it at the end. The step restart empties the Redis database.
// If other programs use the machine at the same time, only the ratios are reliable.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// options are the values of the flags.
type options struct {
	mysql, redis, only string
	changes, singles   int
	rounds             int
	rate               int
	steady, soak       time.Duration
	drain              time.Duration
	backlog            int
	apart              bool
	patience           time.Duration
}

func main() { rig.Main("hooks", run) }

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("hooks", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server to make a database on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/14", "Redis database, emptied")
	f.StringVar(&o.only, "only", "batch,single,latency,unmatched,workers,isolation", "what to measure")
	f.IntVar(&o.changes, "changes", 10_000, "changes of one bulk request, delivered in batches")
	f.IntVar(&o.singles, "singles", 5_000, "changes of one bulk request, delivered one by one")
	f.IntVar(&o.rounds, "rounds", 5, "rounds of the steps batch and single; the median counts")
	f.IntVar(&o.rate, "rate", 50, "changes per second in the steps latency, isolation and slow, and with -soak")
	f.DurationVar(&o.steady, "steady", 10*time.Second, "duration of each run at -rate")
	f.DurationVar(&o.drain, "drain", time.Minute, "how long the step slow waits for late events")
	f.DurationVar(&o.soak, "soak", 0, "instead of measuring, make changes at -rate for this time (at least five minutes) and check what grows")
	f.IntVar(&o.backlog, "backlog", 370_000, "number of changes that wait when the worker starts")
	f.BoolVar(&o.apart, "apart", true, "each change of the backlog is a separate write")
	f.DurationVar(&o.patience, "patience", 10*time.Minute, "time limit for the delivery of the backlog")
	return o, f.Parse(args)
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	var settings []string
	if o.soak > 0 {
		settings = soakSettings
	}
	s, err := newSite(ctx, o, settings...)
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	b := &bench{o: o, s: s, out: out}
	b.say("%d processors, %s, load %s", runtime.NumCPU(), runtime.Version(), rig.Load())
	if o.soak > 0 {
		return b.soak(ctx)
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"batch", b.batches},
		{"single", b.singles},
		{"latency", b.latency},
		{"unmatched", b.unmatched},
		{"workers", b.workers},
		{"isolation", b.isolation},
		{"restart", b.restart},
		{"slow", b.slow},
	} {
		if !strings.Contains(","+o.only+",", ","+step.name+",") {
			continue
		}
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}
