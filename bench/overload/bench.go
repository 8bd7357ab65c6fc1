package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// bench is one run.
type bench struct {
	o    options
	s    *site
	load *load
	out  io.Writer

	best float64 // highest goodput of any step
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.out, format+"\n", args...) }

// growth is the factor between two rates while the service can keep up.
const growth = 1.5

// halvings is the number of times that climb halves the range between the last sustainable
// rate and the first unsustainable rate.
const halvings = 2

// pause is the time between two rates. It is shorter if the rate was offered for less than
// this time.
const pause = 2 * time.Second

func (b *bench) run(ctx context.Context) error {
	if _, err := b.offer(ctx, b.o.from, b.o.step); err != nil { // warm-up
		return err
	}
	sustainable, err := b.o.rate, error(nil)
	if sustainable == 0 {
		sustainable, err = b.climb(ctx)
	}
	if err != nil {
		return err
	}
	if _, err := b.offer(ctx, 2*sustainable, b.o.step); err != nil { // this rate may have the best goodput
		return err
	}
	best := b.best
	floor, err := b.floor(ctx, sustainable)
	if err != nil {
		return err
	}
	b.best = best
	quiet, err := b.offer(ctx, sustainable/2, b.o.step)
	if err != nil {
		return err
	}
	before := b.s.Memory(b.s.command, "VmRSS")
	b.say("sustainable: %.0f requests/s; best goodput %.0f/s; at half of it p50 %.1f ms, p99 %.1f ms, %d MiB", sustainable, b.best,
		ms(at(quiet.good, .5)), ms(at(quiet.good, .99)), before>>20)
	return b.overload(ctx, base{sustainable, floor, quiet, before})
}

// climb finds the sustainable rate.
func (b *bench) climb(ctx context.Context) (float64, error) {
	low, high, rate := 0., 0., b.o.from
	for halved := 0; halved <= halvings; {
		ok, err := b.keepsUp(ctx, rate)
		if err != nil {
			return 0, err
		}
		if ok {
			low = rate
		} else {
			high = rate
		}
		switch {
		case low == 0:
			return 0, fmt.Errorf("%.0f requests a second are too many to begin with", rate)
		case high == 0:
			rate *= growth
		default:
			rate = math.Sqrt(low * high)
			halved++
		}
	}
	return low, nil
}

// keepsUp reports whether the service can keep up with a rate. After a failure it tries once
// more, because the machine may have been busy with other work.
func (b *bench) keepsUp(ctx context.Context, rate float64) (bool, error) {
	for range 2 {
		r, err := b.offer(ctx, rate, b.o.step)
		if err != nil {
			return false, err
		}
		if r.share() >= .99 && at(r.good, .99) <= b.o.bound {
			return true, nil
		}
	}
	return false, nil
}

// offer offers a rate for a duration and prints the result.
func (b *bench) offer(ctx context.Context, rate float64, d time.Duration) (result, error) {
	used := b.used(ctx)
	if err := b.load.offer(ctx, rate, d); err != nil {
		return result{}, err
	}
	used = b.used(ctx).since(used)
	b.load.settle()
	r := summed(b.load.take(), d)
	b.best = max(b.best, r.goodput())
	b.say("%6.0f/s: %s; %s", rate, r, used.per(d))
	time.Sleep(min(pause, d))
	return r, nil
}

func (r result) String() string {
	return fmt.Sprintf("%.2f %% right, goodput %.0f/s, p50 %.1f ms, p99 %.1f ms; %d refused (p50 %.1f ms, p99 %.1f ms), %d broken, %d answered otherwise, %d not sent",
		100*r.share(), r.goodput(), ms(at(r.good, .5)), ms(at(r.good, .99)), r.refused, ms(at(r.turned, .5)), ms(at(r.turned, .99)),
		r.broken, r.unlike, r.offered-r.sent)
}

// base has the values with which the overload is compared.
type base struct {
	sustainable float64 // requests per second
	floor       float64 // goodput during a flood that a bare server refuses
	quiet       result  // at half the sustainable rate
	memory      int64   // bytes before the overload
}

// overload offers a multiple of the sustainable rate, and then half of the sustainable rate.
func (b *bench) overload(ctx context.Context, was base) error {
	used := b.used(ctx)
	peak := b.watchMemory()
	if err := b.load.offer(ctx, b.o.factor*was.sustainable, b.o.time); err != nil {
		return err
	}
	used = b.used(ctx).since(used)
	began := time.Now()
	if err := b.load.offer(ctx, was.sustainable/2, b.o.after); err != nil {
		return err
	}
	after := b.s.Memory(b.s.command, "VmRSS")
	b.load.settle()
	all := b.load.take()
	recovered, steady, ok := recovery(all, began, b.o.after, 2*at(was.quiet.good, .99))
	r := summed(between(all, time.Time{}, began), b.o.time)
	b.say("overload: %s; %s", r, used.per(b.o.time))
	b.sorts(between(all, time.Time{}, began))
	back := "not within " + b.o.after.String()
	if ok {
		back = fmt.Sprintf("after %.1f s, and so in %.0f %% of the seconds from then on", recovered.Seconds(), 100*steady)
	}
	rows := [][2]string{
		{"sustainable rate", fmt.Sprintf("%.0f requests/s", was.sustainable)},
		{"best goodput", fmt.Sprintf("%.0f/s", b.best)},
		{"goodput beside the flood, which a bare server refuses", fmt.Sprintf("%.0f/s, %.2f of the best", was.floor, was.floor/b.best)},
		{"offered", fmt.Sprintf("%.0f requests/s for %s, %.0f/s of them sent over %d connections", r.rate(), b.o.time, float64(r.sent)/r.took.Seconds(), b.o.conns)},
		{"goodput", fmt.Sprintf("%.0f/s, %.2f of the best, %.2f of that beside the flood", r.goodput(), r.goodput()/b.best, r.goodput()/was.floor)},
		{"what was answered 200", fmt.Sprintf("median %.0f ms, 99 of 100 within %.0f ms", ms(at(r.good, .5)), ms(at(r.good, .99)))},
		{"refused (503, 429)", fmt.Sprintf("%.0f/s, median %.0f ms, 99 of 100 within %.0f ms", float64(r.refused)/r.took.Seconds(), ms(at(r.turned, .5)), ms(at(r.turned, .99)))},
		{"broken or not answered in " + b.o.timeout.String(), fmt.Sprint(r.broken)},
		{"answered otherwise", fmt.Sprint(r.unlike)},
		{"processors used", used.per(b.o.time)},
		{"memory of the process", fmt.Sprintf("%d MiB before, %d MiB at most, %d MiB %s after", was.memory>>20, peak()>>20, after>>20, b.o.after)},
		{"itself again", back},
	}
	b.say("\n| Overload | Measured |\n|---|---|")
	for _, row := range rows {
		b.say("| %s | %s |", row[0], row[1])
	}
	b.say("load %s", rig.Load())
	return nil
}

// sorts prints the result of each sort of request.
func (b *bench) sorts(all []outcome) { sorts(all, b.o.time, b.say) }

func sorts(all []outcome, d time.Duration, say func(format string, args ...any)) {
	for i := range mix {
		var of []outcome
		for _, o := range all {
			if o.sort == i {
				of = append(of, o)
			}
		}
		if len(of) > 0 {
			say("  %s: %s", mix[i].name, summed(of, d))
		}
	}
}

// watchMemory samples the memory of the process until peak is called. peak returns the largest
// sample in bytes.
func (b *bench) watchMemory() (peak func() int64) {
	ended, largest := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, b.s.Memory(b.s.command, "VmRSS"))
			select {
			case <-ended:
				largest <- most
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 {
		close(ended)
		return <-largest
	}
}

// use is processor time.
type use struct{ service, client, database, machine time.Duration }

func (b *bench) used(ctx context.Context) use {
	return use{service: b.s.CPU(), client: rig.CPU(os.Getpid()), database: b.s.DatabaseCPU(ctx), machine: machineCPU()}
}

func (u use) since(v use) use {
	return use{u.service - v.service, u.client - v.client, u.database - v.database, u.machine - v.machine}
}

// per returns the average number of busy processors over d, by consumer.
func (u use) per(d time.Duration) string {
	s := d.Seconds()
	return fmt.Sprintf("service %.2f, database %.2f, client %.2f, all else %.2f", u.service.Seconds()/s, u.database.Seconds()/s,
		u.client.Seconds()/s, max(0, u.machine-u.service-u.database-u.client).Seconds()/s)
}

// machineCPU returns the processor time that the whole machine has used so far, or 0 if it is
// not known.
func machineCPU() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	var user, nice, system, idle, wait, irq, soft int64
	first, _, _ := strings.Cut(string(text), "\n")
	if _, err := fmt.Sscanf(first, "cpu %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft); err != nil {
		return 0
	}
	return time.Duration(user+nice+system+irq+soft) * time.Second / 100
}
