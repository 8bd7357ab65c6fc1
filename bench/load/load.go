package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// loader sends batches one after another.
type loader struct {
	client  *client
	journal *journal
	options options
	out     io.Writer
}

func (l *loader) run(ctx context.Context, batches []batch) error {
	for _, b := range batches {
		if l.journal.done(b.number) {
			continue
		}
		if err := l.send(ctx, b); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// send sends one batch and records its result. It returns an error only if the journal cannot
// be written; a refused request is recorded and reported.
func (l *loader) send(ctx context.Context, b batch) error {
	scope, err := l.scope(ctx, b.project)
	if err != nil {
		return l.failed(ctx, b, 0, fmt.Errorf("create the project: %w", err))
	}
	if _, tried := l.journal.requests[b.number]; tried {
		found, err := l.isThere(ctx, scope, b)
		if err != nil {
			return l.failed(ctx, b, 0, fmt.Errorf("look whether it is there: %w", err))
		}
		if found {
			return l.journal.add(entry{Project: b.project, Request: b.number, Count: len(b.stories), Found: true})
		}
	}
	start := time.Now()
	answer, err := l.client.bulk(ctx, commands(scope, b.stories))
	took := time.Since(start)
	if err == nil {
		if refused := answer.failures(); refused != "" {
			err = fmt.Errorf("%s", refused)
		} else if answer.AssetsCreated.Count != len(b.stories) {
			err = fmt.Errorf("%d of %d stories created", answer.AssetsCreated.Count, len(b.stories))
		}
	}
	if err != nil {
		return l.failed(ctx, b, took, err)
	}
	return l.journal.add(entry{Project: b.project, Request: b.number, Count: len(b.stories), Took: took})
}

// failed records a failure and waits until the service answers again, or until -wait is over.
func (l *loader) failed(ctx context.Context, b batch, took time.Duration, cause error) error {
	fmt.Fprintf(l.out, "request %d (%s, %d stories) failed: %v\n", b.number, b.project, len(b.stories), cause)
	err := l.journal.add(entry{Project: b.project, Request: b.number, Count: len(b.stories), Took: took, Error: cause.Error()})
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, l.options.wait)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !l.client.answers(waiting) {
		select {
		case <-tick.C:
		case <-waiting.Done():
			return nil
		}
	}
	return nil
}

// scope returns the Oid of a project and creates the project if it is new.
func (l *loader) scope(ctx context.Context, project string) (string, error) {
	if scope := l.journal.scopes[project]; scope != "" {
		return scope, nil
	}
	answer, err := l.client.bulk(ctx, map[string]string{
		"AssetType": "Scope", "Name": project, "Parent": l.options.parent, "BeginDate": time.Now().UTC().Format(time.DateOnly),
	})
	if err != nil {
		return "", err
	}
	if refused := answer.failures(); refused != "" {
		return "", fmt.Errorf("%s", refused)
	}
	if len(answer.AssetsCreated.OIDTokens) != 1 {
		return "", fmt.Errorf("%d assets created in place of one", len(answer.AssetsCreated.OIDTokens))
	}
	scope := answer.AssetsCreated.OIDTokens[0]
	return scope, l.journal.add(entry{Project: project, Scope: scope})
}

// isThere reports whether the project already has all stories of the batch.
func (l *loader) isThere(ctx context.Context, scope string, b batch) (bool, error) {
	rows, err := l.client.stories(ctx, scope)
	if err != nil {
		return false, err
	}
	found := compare(b, byReference(rows))
	return found.same == len(b.stories), nil
}

// commands returns the create commands of one request.
func commands(scope string, stories []story) []map[string]any {
	all := make([]map[string]any, 0, len(stories))
	for _, s := range stories {
		c := map[string]any{
			"AssetType": "Story", "Scope": scope,
			"Name": s.title, "Reference": s.key, "Estimate": s.points,
		}
		if s.description != "" {
			c["Description"] = s.description
		}
		all = append(all, c)
	}
	return all
}

// report prints the times of the requests with status 200, and the number of the other
// requests.
func report(out io.Writer, batches []batch, j *journal) {
	var took []time.Duration
	var total time.Duration
	stories, lost := 0, 0
	for _, b := range batches {
		e, known := j.requests[b.number]
		if !known || !e.ok() {
			lost++
			continue
		}
		took = append(took, e.Took)
		total += e.Took
		stories += e.Count
	}
	slices.Sort(took)
	rank := func(percent int) time.Duration { return rig.Percentile(took, percent).Round(100 * time.Microsecond) }
	fmt.Fprintf(out, "%d requests answered 200 with %d stories", len(took), stories)
	if len(took) > 0 {
		fmt.Fprintf(out, " in %.2f s: %.0f stories/s; per request median %v, p95 %v, max %v",
			total.Seconds(), float64(stories)/total.Seconds(), rank(50), rank(95), rank(100))
	}
	fmt.Fprintf(out, "; %d requests not answered 200\n", lost)
}
