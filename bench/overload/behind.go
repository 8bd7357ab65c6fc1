package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

const (
	goodRate  = 10                     // requests per second of the good client
	goodConns = 50                     // connections of the good client
	normal    = 100 * time.Millisecond // a 99th percentile that is never considered slow
)

// pair has two apis behind a balancer, and their clients.
type pair struct {
	o    options
	b    *balancer
	all  *load // many clients
	good *load // a member that uses less than its share of the capacity
	out  io.Writer
}

func (p *pair) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// behind measures two apis behind a balancer that probes their readiness. Many clients each
// send their next request after the answer to the last one. At the same time, one member sends
// ten requests per second.
func behind(ctx context.Context, o options, s *site, w *world, out io.Writer) error {
	second, err := s.second()
	if err != nil {
		return err
	}
	b, err := newBalancer([]*target{{name: "first", addr: s.Addr, admin: s.AdminAddr(s.command)}, second})
	if err != nil {
		return err
	}
	defer b.close()
	alone, others, few := *w, *w, o
	alone.people, others.people = w.people[:1], w.people[1:1+min(o.members, people-1)]
	few.conns = goodConns
	p := &pair{o: o, b: b, out: out}
	p.all = &load{o: o, addr: b.Addr().String(), requests: newRequests(&others)}
	p.good = newLoad(newRequests(&alone).withoutPasswords(), b.Addr().String(), few)
	defer p.good.close()
	if err := p.all.crowd(ctx, o.clients, o.step); err != nil { // warm-up
		return err
	}
	time.Sleep(pause)
	quiet, err := p.good.during(ctx, o.step)
	if err != nil {
		return err
	}
	b.forget()
	_ = p.all.take()
	return p.run(ctx, summed(quiet, o.step))
}

// run runs the many clients together with the good client. The good client continues after the
// others have ended.
func (p *pair) run(ctx context.Context, quiet result) error {
	ended := make(chan error, 1)
	go func() { ended <- p.all.crowd(ctx, p.o.clients, p.o.time) }()
	loaded, err := p.good.during(ctx, p.o.time)
	if err == nil {
		err = <-ended
	}
	if err != nil {
		return err
	}
	probes := p.b.told()
	began := time.Now()
	after, err := p.good.during(ctx, p.o.after)
	if err != nil {
		return err
	}
	back := "not within " + p.o.after.String()
	limit := max(normal, 2*at(quiet.good, .99))
	if took, _, ok := recovery(after, began, p.o.after, limit); ok {
		back = fmt.Sprintf("after %.1f s", took.Seconds())
	}
	sorts(loaded, p.o.time, p.say)
	p.table(quiet, summed(loaded, p.o.time), probes, fmt.Sprintf("%s (99 of 100 within %s)", back, limit.Round(time.Millisecond)))
	return nil
}

func (p *pair) table(quiet, g result, probes, back string) {
	crowd := summed(p.all.take(), p.o.time)
	p.say("\n| %d clients of %d members for %s at two apis | Measured |\n|---|---|", p.o.clients, p.o.members, p.o.time)
	for _, row := range [][2]string{
		{"probes of `/readyz`", probes},
		{"requests for which nobody was in, or whose process broke off", fmt.Sprintf("%d, %d", p.b.nobody.Load(), p.b.broken.Load())},
		{"the clients", fmt.Sprintf("%.0f/s answered 200, median %.0f ms, 99 of 100 within %.0f ms; %.0f/s refused; %d broken, %d answered otherwise",
			crowd.goodput(), ms(at(crowd.good, .5)), ms(at(crowd.good, .99)), float64(crowd.refused)/p.o.time.Seconds(), crowd.broken, crowd.unlike)},
		{"the good client alone", fmt.Sprintf("median %.0f ms, 99 of 100 within %.0f ms", ms(at(quiet.good, .5)), ms(at(quiet.good, .99)))},
		{"the good client meanwhile", fmt.Sprintf("%d of %d right, median %.0f ms, 99 of 100 within %.0f ms, most %.0f ms; %d refused, %d broken",
			g.right, g.offered, ms(at(g.good, .5)), ms(at(g.good, .99)), ms(at(g.good, 1)), g.refused, g.broken+g.offered-g.sent)},
		{"itself again", back},
	} {
		p.say("| %s | %s |", row[0], row[1])
	}
	p.say("load %s", rig.Load())
}

// second starts a second api.
func (s *site) second() (*target, error) {
	addr, err := rig.FreeAddr()
	if err != nil {
		return nil, err
	}
	const name = "second api"
	if err := s.Start(name, s.command, "ALDS_ADDR="+addr); err != nil {
		return nil, err
	}
	return &target{name: name, addr: addr, admin: s.AdminAddr(name)}, nil
}

// withoutPasswords keeps only the sorts of requests that use a token.
func (r *requests) withoutPasswords() *requests {
	r.picks = slices.DeleteFunc(r.picks, func(i int) bool { return mix[i].password })
	return r
}

// during sends requests at the rate of the good client for a duration and returns their
// outcomes.
func (l *load) during(ctx context.Context, d time.Duration) ([]outcome, error) {
	if err := l.offer(ctx, goodRate, d); err != nil {
		return nil, err
	}
	l.settle()
	return l.take(), nil
}

// crowd runs n clients for a duration. Each client sends its next request after the answer to
// the last one.
func (l *load) crowd(ctx context.Context, n int, d time.Duration) error {
	until, end := context.WithTimeout(ctx, d)
	defer end()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { l.client(until, "127.0.0."+strconv.Itoa(1+i%clients)) })
	}
	all.Wait()
	return ctx.Err()
}

func (l *load) client(until context.Context, from string) {
	var c *rig.Conn
	for until.Err() == nil {
		if c == nil {
			var err error
			if c, err = rig.DialFrom(from, l.addr); err != nil {
				time.Sleep(100 * time.Millisecond)
				continue
			}
		}
		of, request := l.requests.pick()
		one := sending{outcome{due: time.Now(), sort: of, status: broken}, request}
		one.ask(c, l.o.timeout)
		one.took = time.Since(one.due)
		l.keep(one.outcome)
		if c.Ended || one.status == broken || one.status == overdue {
			_ = c.Close()
			c = nil
		}
	}
	if c != nil {
		_ = c.Close()
	}
}
