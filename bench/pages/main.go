// Command pages compares the pages for people with the requests that they send to the
// interface.
//
//	go run ./bench/pages                    100,000 stories on MariaDB
//	go run ./bench/pages -only backlog      the rows whose name contains this text
//
// Each row is a page that one client requests repeatedly. It has the time to the first byte,
// and the compressed size in bytes. The page is compared with the floor: the requests in the
// footer of the page, which the same client sends like a program, in turn with the page. The
// ratio therefore shows the cost of HTML for people, compared with the same data for programs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// options are the values of the flags.
type options struct {
	mysql, redis, only string
	stories, times     int
}

func main() { rig.Main("pages", run) }

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	var o options
	f := flag.NewFlagSet("pages", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server the database is made on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/0", "queue of the service")
	f.StringVar(&o.only, "only", "", "measure only the rows whose name contains this text")
	f.IntVar(&o.stories, "stories", 100_000, "stories in the database")
	f.IntVar(&o.times, "times", 30, "how often each page is asked for")
	if err := f.Parse(args); err != nil {
		return err
	}
	site, err := rig.NewSite(ctx, rig.SiteOptions{Name: "pages", MySQL: o.mysql, Redis: o.redis, Commands: []string{"api", "worker"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	filled, err := fill(site, o.stories)
	if err != nil {
		return err
	}
	if err := site.Analyze(ctx); err != nil {
		return err
	}
	b, err := newBrowser(site)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-34s %10s %10s %8s %10s\n", "page", "first byte", "requests", "ratio", "bytes")
	for _, p := range filled.pages() {
		if strings.Contains(p.name, o.only) {
			if err := measure(b, p, o.times, out); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}

// measure requests a page and the requests in its footer in turn, and prints the medians.
func measure(b *browser, p page, times int, out io.Writer) error {
	first, err := b.get(p.path)
	if err != nil {
		return err
	}
	requests := requestsOf(first.text) // may be empty: the footer omits requests that are the same on every page
	var pages, floors []time.Duration
	for range times {
		got, err := b.get(p.path)
		if err != nil {
			return err
		}
		pages = append(pages, got.firstByte)
		took, err := b.send(requests)
		if err != nil {
			return err
		}
		floors = append(floors, took)
	}
	a, c := rig.Median(pages), rig.Median(floors)
	if len(requests) == 0 {
		fmt.Fprintf(out, "%-34s %7.1f ms %10s %8s %10d\n", p.name, ms(a), "none", "", first.bytes)
		return nil
	}
	fmt.Fprintf(out, "%-34s %7.1f ms %7.1f ms %8.2f %10d\n", p.name, ms(a), ms(c), ms(a)/ms(c), first.bytes)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
