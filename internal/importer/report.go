package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// reject notes a record that is not taken.
func (r *run) reject(it item, cause error) error {
	r.counts.Rejected++
	r.tell(it, cause)
	return r.rejects.add(it.Raw)
}

// tell says what is wrong with a record.
func (r *run) tell(it item, cause error) {
	if it.Key == "" {
		r.progress.say("line %d: %v", it.Line, cause)
		return
	}
	r.progress.say("line %d, %s: %v", it.Line, it.Key, cause)
}

// complain says something once.
func (r *run) complain(message string) {
	if !r.said[message] {
		r.said[message] = true
		r.progress.say("%s", message)
	}
}

// finish says what became of everything.
func (r *run) finish() error {
	c := r.counts
	if !r.o.DryRun {
		if err := errors.Join(r.made.remove(), r.pending.remove()); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.o.Out, "%d records: %d created, %d updated, %d unchanged, %d rejected\n",
		c.Records, c.Created, c.Updated, c.Skipped, c.Rejected)
	r.summarize("also created", r.resolver.created)
	r.summarize("left out, because nothing suitable has this name or key", r.resolver.leftOut)
	if c.Lacking > 0 {
		fmt.Fprintf(r.o.Out, "links that were not set: %d\n", c.Lacking)
	}
	if r.o.DryRun {
		fmt.Fprintln(r.o.Out, "this was a dry run: nothing was written")
	}
	if c.Rejected == 0 && c.Lacking > 0 && r.lost {
		return fmt.Errorf("%w: links are missing", ErrProblems)
	}
	if c.Rejected == 0 {
		return nil
	}
	if r.rejects.path != "" {
		fmt.Fprintf(r.o.Out, "rejected records are in %s; correct them and import that file\n", r.rejects.path)
	}
	return fmt.Errorf("%w: %d of %d records were rejected", ErrProblems, c.Rejected, c.Records)
}

// summarize says how often something happened, by what it happened to.
func (r *run) summarize(what string, counts map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(r.o.Out, "%s: %s (%d)\n", what, name, counts[name])
	}
}
