// Command overload measures how well the service works when it receives ten times more
// requests than it can handle. It uses the real api on MariaDB and Redis.
//
//	go run ./bench/overload                  about five minutes
//	go run ./bench/overload -sqlite          standalone on SQLite
//	go run ./bench/overload -balancer        two apis behind a balancer, two minutes
//
// It makes a separate installation with projects, stories and members with different rights,
// and drops it at the end. The requests are those of the variable mix. Each request is sent at
// its time, whether or not earlier requests are answered, on many connections. The rate rises
// as long as 99 of 100 requests get the right answer and the 99th percentile is within a
// bound. The last such rate is the sustainable rate. Then the bench offers ten times that rate
// for a minute. Afterwards it offers half of the sustainable rate, and measures the time until
// the service has recovered.
//
// The same run measures the cost of the flood itself: the service is offered twice the
// sustainable rate, while a bare server that answers 503 receives the rest.
//
// With -balancer, a round-robin proxy in this process probes the readiness of two apis every
// second. A probe fails after a second without an answer. After three failures, an api gets no
// requests. For a minute, 600 clients each send their next request after the answer to the
// last one. At the same time one member sends ten requests per second, and continues after the
// minute.
//
// A request for which no connection is free is not sent and counts as not answered. Client,
// service and database share the machine. The table shows how much processor time each of them
// used.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// options are the flags.
type options struct {
	mysql, redis           string
	sqlite                 bool
	stories, logins, conns int
	from, rate, factor     float64
	step, time, after      time.Duration
	bound, timeout         time.Duration
	balancer               bool
	clients, members       int
}

func main() { rig.Main("overload", run) }

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("overload", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server to make a database on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/13", "Redis database")
	f.BoolVar(&o.sqlite, "sqlite", false, "measure standalone on SQLite")
	f.IntVar(&o.stories, "stories", 20_000, "stories that are there")
	f.IntVar(&o.logins, "logins", 20_000, "members whose password the process has not verified, taken one after the other")
	f.IntVar(&o.conns, "conns", 2_000, "connections")
	f.Float64Var(&o.from, "from", 200, "first rate, in requests a second")
	f.Float64Var(&o.rate, "rate", 0, "the sustainable rate where it is known; 0: it is looked for")
	f.Float64Var(&o.factor, "factor", 10, "overload, as a multiple of the sustainable rate")
	f.DurationVar(&o.step, "step", 10*time.Second, "how long a rate is offered to see whether it is sustainable")
	f.DurationVar(&o.time, "time", time.Minute, "how long the overload lasts")
	f.DurationVar(&o.after, "after", 20*time.Second, "how long the service is watched afterwards")
	f.DurationVar(&o.bound, "bound", time.Second, "99th percentile of a sustainable rate, at most")
	f.DurationVar(&o.timeout, "timeout", 10*time.Second, "how long a client waits for an answer")
	f.BoolVar(&o.balancer, "balancer", false, "measure two apis behind a balancer instead")
	f.IntVar(&o.clients, "clients", 600, "clients at the balancer, each of which waits for its answers")
	f.IntVar(&o.members, "members", 20, "whose clients they are; the capacity is shared by members")
	return o, f.Parse(args)
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	s, err := newSite(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	fmt.Fprintf(out, "%d processors, %s, load %s\n", runtime.NumCPU(), runtime.Version(), rig.Load())
	m, err := s.fill(ctx)
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if o.balancer {
		return behind(ctx, o, s, m, out)
	}
	b := &bench{o: o, s: s, out: out, load: newLoad(newRequests(m), s.Addr, o)}
	defer b.load.close()
	return b.run(ctx)
}
