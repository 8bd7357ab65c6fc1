package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// reject reports a record and writes it to the file of rejected records.
func (r *run) reject(it item, cause error) error {
	r.counts.Rejected++
	r.tell(it, cause)
	return r.rejects.add(it.Raw)
}

// tell logs an error of a record with its line and key.
func (r *run) tell(it item, cause error) {
	if it.Key == "" {
		r.progress.say("line %d: %v", it.Line, cause)
		return
	}
	r.progress.say("line %d, %s: %v", it.Line, it.Key, cause)
}

// complain logs a message, unless it has logged the same message before.
func (r *run) complain(message string) {
	if !r.said[message] {
		r.said[message] = true
		r.progress.say("%s", message)
	}
}

// finish removes the files of a finished import and prints the summary.
// Errors: ErrProblems if records were rejected or required links were not set.
func (r *run) finish() error {
	c := r.counts
	if !r.o.DryRun {
		if err := errors.Join(removeFile(r.made.path), removeFile(r.pending.path)); err != nil {
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

// summarize prints counts by name, each on a line that begins with what.
func (r *run) summarize(what string, counts map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(r.o.Out, "%s: %s (%d)\n", what, name, counts[name])
	}
}
