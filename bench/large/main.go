// Command large measures the most frequent reads and writes while one installation grows to
// several sizes. It also shows how much slower they are at the last size than at the first.
//
//	go run ./bench/large -at 1000000,10000000 -csv backlog.csv
//	go run ./bench/large -at 20000,200000                       a small installation
//
// It makes an installation on MariaDB or MySQL. Two clients fill it with bulk requests, like an
// import. Projects have about 5,000 assets each and are filled one after another; twenty projects
// form a program. Stories have the texts of a backlog, and tasks, owners, statuses and teams.
// There are also defects and epics. At each size, the bench prints the rate and the sizes of
// the tables. Then it waits until the server has written most of its data to disk, as a server
// in normal use has. After that, one client sends each kind of request many times, each time for
// another random project, story or member. The table shows the median and the 95th percentile,
// which is the slowest of twenty. The bench drops its database at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

type options struct {
	mysql, redis, csv string
	at                []int
	goes              int
	settle            time.Duration
}

func main() { rig.Main("large", run) }

func parseFlags(args []string) (options, error) {
	o := options{at: []int{1_000_000, 10_000_000}}
	f := flag.NewFlagSet("large", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server to make the database on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/13", "Redis database")
	f.StringVar(&o.csv, "csv", "", "file with columns title and description; without a file, generated texts of similar lengths")
	f.IntVar(&o.goes, "goes", 60, "how often each work is done")
	f.DurationVar(&o.settle, "settle", 3*time.Minute, "longest wait for the server to write its pages to disk before a measurement")
	f.Func("at", "numbers of assets, growing; the same number again repeats a measurement (default 1000000,10000000)", func(text string) error {
		o.at = nil
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 || len(o.at) > 0 && n < o.at[len(o.at)-1] {
				return errors.New("want growing numbers, or the same number again to repeat a measurement")
			}
			o.at = append(o.at, n)
		}
		return nil
	})
	return o, f.Parse(args)
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	texts, err := rig.Texts(o.csv)
	if err != nil {
		return err
	}
	site, err := rig.NewSite(ctx, rig.SiteOptions{Name: "large", MySQL: o.mysql, Redis: o.redis, Commands: []string{"api"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	d, err := db.Open(ctx, site.URL, db.Options{MaxConns: 4})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	w := &world{Site: site, db: d, texts: texts}
	if err := w.begin(); err != nil {
		return err
	}
	var settings, version string
	err = d.QueryRow(ctx, "SELECT VERSION(), CONCAT('buffer pool ', @@innodb_buffer_pool_size DIV 1048576, ' MiB, flush at commit ', @@innodb_flush_log_at_trx_commit)").Scan(&version, &settings)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d processors, %s; %s, %s\n", runtime.NumCPU(), runtime.Version(), version, settings)
	var results []result
	for _, n := range o.at {
		if err := w.fill(ctx, n, out); err != nil {
			return err
		}
		if err := w.sizes(ctx, out); err != nil {
			return err
		}
		if err := w.settle(ctx, o.settle); err != nil {
			return err
		}
		r, err := w.measure(ctx, o.goes)
		if err != nil {
			return err
		}
		results = append(results, r)
		table(out, o.at[:len(results)], results)
	}
	return nil
}
