package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/alds-dev/alds/bench/rig"
)

// restart measures how a worker starts with a backlog. While no worker runs, it makes the
// backlog and one delivery that is due. It empties Redis, so that only the database has both.
// Then it starts a worker. It measures the time until the delivery arrives, and how fast the
// worker processes the backlog.
func (b *bench) restart(ctx context.Context) error {
	to, err := newReceiver(nil, false)
	if err != nil {
		return err
	}
	defer to.server.Close()
	first := newArrival()
	due, err := newReceiver(first.answer, false)
	if err != nil {
		return err
	}
	defer due.server.Close()
	if _, err := b.s.subscription(to.url, 0, created); err != nil {
		return err
	}
	other, err := b.s.subscription(due.url, 0, map[string]any{"type": "AssetCreated", "from": "Defect"})
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // until the api has read the new subscriptions
	b.s.Stop("worker")
	if err := b.pile(ctx); err != nil {
		return err
	}
	if err := b.s.Post("/api/webhook/test/"+other, map[string]any{}, &struct{}{}); err != nil {
		return err
	}
	if err := b.emptyRedis(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := b.s.Start("worker", "worker"); err != nil {
		return err
	}
	return b.catchUp(ctx, began, first, to)
}

// catchUp prints the time from the start of the worker to the due delivery, and then how fast the
// backlog gets smaller.
func (b *bench) catchUp(ctx context.Context, began time.Time, first *arrival, to *receiver) error {
	var left int64
	select {
	case <-first.came:
		var err error
		if left, err = b.waiting(ctx); err != nil {
			return err
		}
	case <-time.After(b.o.patience):
		b.say("restart: the delivery that was due did not come within %s; load %s", b.o.patience, rig.Load())
	case <-ctx.Done():
		return ctx.Err()
	}
	if !first.at.IsZero() {
		b.say("restart: the delivery that was due came %.0f ms after the start, while %d writes waited; load %s", ms(first.at.Sub(began)), left, rig.Load())
	}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for to.events.Load() < int64(b.o.backlog) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		n, err := b.waiting(ctx)
		if err != nil {
			return err
		}
		b.say("%5.0fs %7d writes wait, %7d events came, the worker says %s, worker %d MiB", time.Since(began).Seconds(), n, to.events.Load(),
			b.gauges(), b.s.Memory("worker")>>20)
		if time.Since(began) > b.o.patience {
			return errors.New("the backlog takes too long")
		}
	}
	took := time.Unix(0, to.last.Load()).Sub(began)
	b.say("restart: all %d events came within %.1f s, %.0f/s", b.o.backlog, took.Seconds(), float64(b.o.backlog)/took.Seconds())
	return nil
}

// arrival records the time of a receiver's first request.
type arrival struct {
	once sync.Once
	at   time.Time
	came chan struct{}
}

func newArrival() *arrival { return &arrival{came: make(chan struct{})} }

func (a *arrival) answer(http.ResponseWriter, *http.Request) {
	a.once.Do(func() {
		a.at = time.Now()
		close(a.came)
	})
}

// pileChunk is the number of changes of one request.
const pileChunk = 1_000

// pile makes the changes of the backlog. With -apart it then splits them into one write per
// change. Separate requests would take minutes.
func (b *bench) pile(ctx context.Context) error {
	for made := 0; made < b.o.backlog; {
		n := min(pileChunk, b.o.backlog-made)
		err := b.s.create(n)
		if errors.Is(err, rig.ErrBusy) {
			continue
		}
		if err != nil {
			return err
		}
		made += n
	}
	if b.o.apart {
		if err := b.split(ctx); err != nil {
			return fmt.Errorf("split the writes: %w", err)
		}
	}
	n, err := b.waiting(ctx)
	b.say("restart: %d changes in %d writes wait; load %s", b.o.backlog, n, rig.Load())
	return err
}

// apart is added to a moment to get the id of the write that split makes for this moment.
const apart = "100000000"

// split splits each waiting write into one write per moment.
func (b *bench) split(ctx context.Context) error {
	for _, text := range []string{
		"CREATE TABLE @.whole AS SELECT id, actor_id, at, generation FROM @.audit WHERE fan_state = 0",
		`INSERT INTO @.audit (id, request_id, actor_id, at, first_moment, last_moment, generation, fan_state)
			SELECT ` + apart + ` + v.moment, UUID(), w.actor_id, w.at, v.moment, v.moment, w.generation, 0
			FROM @.whole w JOIN (SELECT DISTINCT moment, audit_id FROM @.asset_version) v ON v.audit_id = w.id`,
		"UPDATE @.asset_version SET audit_id = " + apart + " + moment WHERE audit_id IN (SELECT id FROM @.whole)",
		"DELETE FROM @.audit WHERE id IN (SELECT id FROM @.whole)",
		"UPDATE @.sequence SET value = (SELECT MAX(id) FROM @.audit) WHERE name = 'audit'",
		"ANALYZE TABLE @.audit",
	} {
		if _, err := b.s.Admin.Exec(ctx, strings.ReplaceAll(text, "@.", b.s.Name+".")); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) emptyRedis(ctx context.Context) error {
	o, err := redis.ParseURL(b.o.redis)
	if err != nil {
		return err
	}
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }()
	return c.FlushDB(ctx).Err()
}

// waiting returns the number of writes whose webhook events are not created yet.
func (b *bench) waiting(ctx context.Context) (n int64, err error) {
	err = b.s.Admin.QueryRow(ctx, "SELECT COUNT(*) FROM "+b.s.Name+".audit WHERE fan_state = 0").Scan(&n)
	return n, err
}

// gauges returns the backlog metrics of the worker as text.
func (b *bench) gauges() string {
	all, err := (&watch{b: b}).metrics("worker")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.0f, %.0f s", all["alds_webhook_backlog_audits"], all["alds_webhook_backlog_age_seconds"])
}
