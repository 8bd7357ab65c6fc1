// Command peers compares alds with two other services that store items with relations and
// serve them over HTTP: PocketBase on SQLite, and Directus on MariaDB.
//
//	go run ./bench/peers                            alds and PocketBase on SQLite; only alds on MariaDB
//	go run ./bench/peers -directus DIR              also Directus, installed into DIR with npm
//	go run ./bench/peers -peer PocketBase -only page
//
// Run it from the root of the repository. Each service runs as separate processes and stores
// the same 100,000 stories. The same clients send requests over HTTP, in time windows that
// alternate between alds and the peer. Each answer is compared with the data, by ids and
// values. Written stories are read back. README.md describes the features and guarantees of
// each service, its installation, and the results.
package main

import (
	"context"
	"errors"
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
	mysql, redis, pocketbase, directus, peer, only string

	stories, rounds, bulk, imported int
	window                          time.Duration
	durable                         bool
}

func main() { rig.Main("peers", run) }

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server that the databases of alds and Directus are made on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/0", "queue of alds")
	f.StringVar(&o.pocketbase, "pocketbase", "bench/peers/pocketbase", "folder of the module that serves PocketBase; empty: it is not installed")
	f.StringVar(&o.directus, "directus", os.Getenv("DIRECTUS"), "folder into which npm installed Directus; empty: it is not installed")
	f.StringVar(&o.peer, "peer", "", "measure only this peer: PocketBase or Directus")
	f.StringVar(&o.only, "only", "", "measure only the rows whose name contains this text")
	f.BoolVar(&o.durable, "durable", false, "let each commit of PocketBase wait for the disk, as those of alds do")
	f.IntVar(&o.stories, "stories", 100_000, "stories that each side holds")
	f.IntVar(&o.rounds, "rounds", 5, "windows of each side for each row")
	f.IntVar(&o.bulk, "bulk", 1000, "stories of a bulk creation")
	f.IntVar(&o.imported, "import", 5000, "stories of an import")
	f.DurationVar(&o.window, "window", 2*time.Second, "time of one window")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.stories < 4000 || o.stories%200 != 0 || o.rounds < 1 || o.bulk < 2 || o.imported < 2 {
		return o, errors.New("-stories is a multiple of 200 from 4000 on, -rounds at least 1, -bulk and -import at least 2")
	}
	return o, nil
}

// pair is alds and a peer on the same database system.
type pair struct {
	peer, system string
	installed    string // folder of the peer; empty: not installed
	mysql        string // server of alds; empty: SQLite
	start        func(ctx context.Context, d *data) (product, string, error)
}

func pairs(o options) []pair {
	return []pair{
		{peer: "PocketBase", system: "SQLite", installed: o.pocketbase, start: func(ctx context.Context, d *data) (product, string, error) {
			p, err := startPocketBase(ctx, o.pocketbase, o.durable, d)
			return p, p.version, err
		}},
		{peer: "Directus", system: "MariaDB or MySQL", installed: o.directus, mysql: o.mysql, start: func(ctx context.Context, d *data) (product, string, error) {
			p, err := startDirectus(ctx, o.directus, o.mysql, d)
			return p, p.version, err
		}},
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	d := newData(o.stories)
	fmt.Fprintf(out, "%d stories in %d projects of %d members; %d windows of %v each\n", len(d.stories), len(d.projects)-1, members, o.rounds, o.window)
	for _, p := range pairs(o) {
		if o.peer != "" && !strings.EqualFold(o.peer, p.peer) {
			continue
		}
		if err := p.measure(ctx, o, d, out); err != nil {
			return fmt.Errorf("beside %s: %w", p.peer, err)
		}
	}
	return nil
}

// measure starts both sides, measures them and stops them.
func (p pair) measure(ctx context.Context, o options, d *data, out io.Writer) (err error) {
	start := time.Now()
	a, err := startALDS(ctx, p.mysql, o.redis, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	fmt.Fprintf(out, "\nalds on %s, loaded by bulk requests in %v; load %s\n", p.system, time.Since(start).Round(time.Second), rig.Load())
	own := newSide(a, d)
	if err := a.restart(ctx); err != nil {
		return err
	}
	if p.installed == "" {
		fmt.Fprintf(out, "%s is not installed\n\n", p.peer)
		return measure(ctx, o, own, nil, p.peer, out)
	}
	start = time.Now()
	product, version, err := p.start(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, product.close()) }()
	if err := product.restart(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s %s, started and loaded in %v; load %s\n\n", p.peer, version, time.Since(start).Round(time.Second), rig.Load())
	return measure(ctx, o, own, newSide(product, d), p.peer, out)
}
