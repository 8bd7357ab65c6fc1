package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// text returns a text of about this length. It is different for each n.
func text(n, length int) string {
	words := strings.Fields("as a member I want to know what was planned changed and done in a project so that all of us can decide")
	var b strings.Builder
	for i := n; b.Len() < length; i = i*31 + 7 {
		b.WriteString(words[(i&0x7fffffff)%len(words)] + " ")
	}
	return b.String()
}

// changed returns the command of one change. Changes alternate between estimate, status, name,
// owners and description.
func changed(id int64, n int) map[string]any {
	c := map[string]any{"from": fmt.Sprintf("Story:%d", id)}
	update := map[string]any{}
	switch n % 5 {
	case 0:
		update["Estimate"] = n%21 + 20
	case 1:
		update["Status"] = fmt.Sprintf("StoryStatus:%d", 133+n/5%3)
	case 2:
		update["Name"] = fmt.Sprintf("Story %d, changed %d times", id, n)
	case 3:
		act := []string{"remove", "add"}[n/5%2]
		update["Owners"] = map[string]any{act: []string{"Member:20"}}
	case 4:
		update["Description"] = text(n, 300)
	}
	c["update"] = update
	return c
}

// write makes the changes from..to (exclusive). Each change is a separate write.
func (b *bench) write(ctx context.Context, ids []int64, from, to int) error {
	next := make(chan int)
	errs := make(chan error, b.writers)
	var all sync.WaitGroup
	for range b.writers {
		all.Go(func() {
			for i := range next {
				if _, err := b.site.Bulk([]any{changed(ids[i%len(ids)], i/len(ids))}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	defer func() { close(next); all.Wait() }()
	for i := from; i < to; i++ {
		select {
		case next <- i:
		case err := <-errs:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// pace is the interval between measured writes, and between measured reads.
const pace = 50 * time.Millisecond

// beside measures single writes and reads until a signal, with one request of each kind at a
// time.
func (b *bench) beside(ctx context.Context, when string, until <-chan time.Time) error {
	ended := make(chan struct{})
	go func() { <-until; close(ended) }()
	asks := []struct {
		name string
		ask  func(n int) error
	}{
		{"write", func(n int) error {
			_, err := b.site.Bulk([]any{map[string]any{"from": fmt.Sprintf("Story:%d", 1001+n*37%b.assets), "update": map[string]any{"Estimate": n%90 + 100}}})
			return err
		}},
		{"read", func(n int) error {
			var answer json.RawMessage
			return b.site.Post("/query.v1", map[string]any{
				"from": "Story", "filter": []string{fmt.Sprintf("Estimate='%d'", n%21+20)},
				"select": []string{"Name", "Number", "Estimate", "Owners.Name"}, "page": map[string]any{"size": 50, "start": 0},
			}, &answer)
		}},
		{"history", func(n int) error {
			var answer json.RawMessage
			return b.site.Post("/query.v1", map[string]any{
				"from": fmt.Sprintf("Story:%d", 1001+n*41%b.assets), "asof": "All",
				"select": []string{"Name", "Estimate", "Status.Name", "ChangeDate"},
			}, &answer)
		}},
	}
	failed := make(chan error, len(asks))
	var all sync.WaitGroup
	for _, a := range asks {
		all.Go(func() { failed <- b.times(when, a.name, ended, a.ask) })
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// times sends requests at the pace and prints their times.
func (b *bench) times(when, name string, ended <-chan struct{}, ask func(n int) error) error {
	var took []time.Duration
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ended:
			slices.Sort(took)
			at := func(p int) float64 { return float64(took[len(took)*p/100].Microseconds()) / 1000 }
			b.say("%-8s %-8s %5d times: p50 %6.2f ms, p99 %6.2f ms, longest %6.2f ms", when, name, len(took), at(50), at(99),
				float64(took[len(took)-1].Microseconds())/1000)
			return nil
		case <-tick.C:
			began := time.Now()
			if err := ask(n); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			took = append(took, time.Since(began))
		}
	}
}
