// Command retention measures the size of history and the cost of its removal, with real
// processes on MariaDB or MySQL. It writes changes and then sets their times, so that they are
// distributed over a year. The scheduler then removes all history except for the last part.
//
//	go run ./bench/retention                       20,000 stories with 10 changes each
//	go run ./bench/retention -assets 2000 -quiet 5s
//
// It prints the rows and bytes of each table at four stages: after the stories are created,
// after the changes, after the removal, and after the tables are rebuilt. It also prints the
// bytes per asset, change and delivered event, and the duration of the removal. Single writes
// and reads are measured during the removal and without it. It makes a database and drops it
// at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"time"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
)

type options struct {
	mysql, redis            string
	assets, changes, events int
	writers                 int
	keep, quiet, patience   time.Duration
}

func main() { rig.Main("retention", run) }

func parseFlags(args []string) (o options, err error) {
	f := flag.NewFlagSet("retention", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server to make a database on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/13", "Redis database, emptied")
	f.IntVar(&o.assets, "assets", 20_000, "stories")
	f.IntVar(&o.changes, "changes", 10, "changes of each, every one a write of its own")
	f.IntVar(&o.events, "events", 5_000, "of the changes, how many are delivered to a receiver")
	f.IntVar(&o.writers, "writers", 16, "clients that write")
	f.DurationVar(&o.keep, "keep", 90*24*time.Hour, "ALDS_VERSION_KEEP")
	f.DurationVar(&o.quiet, "quiet", 30*time.Second, "how long writes and reads are measured without the removal, before and after")
	f.DurationVar(&o.patience, "patience", 20*time.Minute, "how long the removal may take")
	return o, f.Parse(args)
}

// bench is one run.
type bench struct {
	options
	site  *rig.Site
	db    *db.DB
	out   io.Writer
	sizes []sizes
}

func (b *bench) say(format string, args ...any) { _, _ = fmt.Fprintf(b.out, format+"\n", args...) }

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	site, err := rig.NewSite(ctx, rig.SiteOptions{Name: "retention", MySQL: o.mysql, Redis: o.redis, Commands: []string{"api", "worker", "scheduler"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	site.Stop("scheduler")
	d, err := db.Open(ctx, site.URL, db.Options{MaxConns: 4})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	b := &bench{options: o, site: site, db: d, out: out}
	b.say("%d processors, %s, load %s", runtime.NumCPU(), runtime.Version(), rig.Load())
	for _, step := range []func(context.Context) error{b.create, b.change, b.age, b.remove, b.anew} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	b.tell()
	found, err := check.Run(ctx, d, meta.Default())
	b.say("api check: %d findings", len(found))
	for _, f := range found {
		b.say("%s", f)
	}
	return err
}

// create creates the stories, a hundred per write.
func (b *bench) create(ctx context.Context) error {
	if err := b.size(ctx, "empty"); err != nil {
		return err
	}
	began := time.Now()
	for from := 0; from < b.assets; from += 100 {
		var all []any
		for n := from; n < min(from+100, b.assets); n++ {
			all = append(all, map[string]any{
				"AssetType": "Story", "Name": fmt.Sprintf("Story %d of the year", n), "Scope": "Scope:0", "Estimate": n % 13,
				"Owners": []string{"Member:20"}, "Description": text(n, 300),
			})
		}
		if _, err := b.site.Bulk(all); err != nil {
			return err
		}
	}
	b.say("%d stories in %.0f s", b.assets, time.Since(began).Seconds())
	if err := b.fanned(ctx); err != nil {
		return err
	}
	return b.size(ctx, "created")
}

// change changes all stories in turn. The last -events changes are delivered to a receiver.
func (b *bench) change(ctx context.Context) error {
	ids, err := db.Column[int64](ctx, b.db, "SELECT id FROM asset WHERE type = 4 ORDER BY id")
	if err != nil {
		return err
	}
	total := len(ids) * b.changes
	began := time.Now()
	if err := b.write(ctx, ids, 0, total-b.events); err != nil {
		return err
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer receiver.Close()
	subscription := map[string]any{"url": receiver.URL, "enabled": true, "eventTypes": []any{
		map[string]any{"type": "AssetChanged", "from": "Story", "select": []string{"Name", "Number", "Estimate"}},
	}}
	if err := b.site.Post("/api/webhook", subscription, &struct{}{}); err != nil {
		return err
	}
	if err := b.write(ctx, ids, total-b.events, total); err != nil {
		return err
	}
	b.say("%d changes in %.0f s", total, time.Since(began).Seconds())
	if err := b.fanned(ctx); err != nil {
		return err
	}
	if err := b.settled(ctx, "SELECT COUNT(*) FROM webhook_delivery WHERE settled_at IS NULL"); err != nil {
		return err
	}
	return b.size(ctx, "changed")
}

// fanned waits until all writes are fanned out.
func (b *bench) fanned(ctx context.Context) error {
	return b.settled(ctx, "SELECT COUNT(*) FROM audit WHERE fan_state = 0")
}

// settled waits until the count of a query is 0.
func (b *bench) settled(ctx context.Context, query string) error {
	for until := time.Now().Add(b.patience); ; {
		var n int
		if err := b.db.QueryRow(ctx, query).Scan(&n); err != nil || n == 0 {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d are left of: %s", n, query)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// remove measures writes and reads three times: before, during and after the removal.
func (b *bench) remove(ctx context.Context) error {
	if err := b.beside(ctx, "before", time.After(b.quiet)); err != nil {
		return err
	}
	if err := b.site.Start("scheduler", "scheduler", "ALDS_VERSION_KEEP="+b.keep.String()); err != nil {
		return err
	}
	began, done := time.Now(), make(chan time.Time, 1)
	failed := make(chan error, 1)
	go func() {
		failed <- b.pruned(ctx)
		done <- time.Now()
	}()
	if err := b.beside(ctx, "removing", done); err != nil {
		return err
	}
	if err := <-failed; err != nil {
		return err
	}
	b.say("removed in %.0f s", time.Since(began).Seconds())
	if err := b.beside(ctx, "behind", time.After(b.quiet)); err != nil {
		return err
	}
	return b.size(ctx, "removed")
}

// pruned waits until the horizon has moved and everything before it is removed.
func (b *bench) pruned(ctx context.Context) error {
	const target = "(SELECT MAX(last_moment) FROM moment_stamp WHERE at <= UNIX_TIMESTAMP(NOW(6)) * 1000000 - %d)"
	const value = "(SELECT value FROM sequence WHERE name = '%s')"
	horizon := fmt.Sprintf(value, "horizon")
	return b.settled(ctx, "SELECT ("+horizon+" < "+fmt.Sprintf(target, (b.keep+10*time.Minute).Microseconds())+") + ("+
		fmt.Sprintf(value, "pruned")+" < "+horizon+") + EXISTS (SELECT 1 FROM moment_stamp WHERE last_moment < "+horizon+")")
}

// anew rebuilds the tables, which returns unused space to the disk.
func (b *bench) anew(ctx context.Context) error {
	b.site.Stop("scheduler")
	for _, table := range []string{"asset_version", "asset_text", "asset_link", "audit", "moment_stamp"} {
		began := time.Now()
		rows, err := b.site.Admin.Query(ctx, "OPTIMIZE TABLE "+b.site.Name+"."+table)
		if err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
		b.say("OPTIMIZE TABLE %s: %.1f s", table, time.Since(began).Seconds())
	}
	return b.size(ctx, "anew")
}
