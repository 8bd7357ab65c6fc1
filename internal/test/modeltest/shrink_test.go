package modeltest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shrink removes parts of a sequence while the rest still fails in the same way. It stops after a minute.
func shrink(t *testing.T, dialect string, all sequence, why string) (sequence, string) {
	if attempt(t, "sqlite", all) != "" { // SQLite is faster
		dialect = "sqlite"
	}
	until := time.Now().Add(time.Minute)
	for again := true; again && time.Now().Before(until); {
		again = false
		for i := range all {
			for _, smaller := range reductions(all, i) {
				if now := attempt(t, dialect, smaller); kindOf(now) == kindOf(why) {
					all, why, again = smaller, now, true
					break
				}
			}
			if again {
				break
			}
		}
	}
	return all, why
}

// kindOf returns the beginning of a difference. If it stays the same, the smaller sequence fails for the
// same reason.
func kindOf(why string) string {
	_, what, _ := strings.Cut(why, ": ")
	return what[:min(len(what), 12)]
}

// reductions returns smaller sequences. In each of them, one thing is missing: request i, a command of the
// request, an attribute of a command, or the options of the request.
func reductions(all sequence, i int) []sequence {
	with := func(r *request) sequence {
		s := slices.Clone(all)
		s[i] = r
		return s
	}
	out := []sequence{slices.Delete(slices.Clone(all), i, i+1)}
	r := all[i]
	for k, c := range r.commands {
		less := *r
		less.commands = slices.Delete(slices.Clone(r.commands), k, k+1)
		out = append(out, with(&less))
		for _, smaller := range c.reductions() {
			less := *r
			less.commands = slices.Clone(r.commands)
			less.commands[k] = smaller
			out = append(out, with(&less))
		}
	}
	if r.config() || r.yaml || r.preview {
		less := *r
		less.atomic, less.counts, less.most, less.yaml, less.preview = false, false, 0, false, false
		out = append(out, with(&less))
	}
	return out
}

// reductions returns copies of the command. In each copy, one attribute is missing.
func (c *command) reductions() []*command {
	var out []*command
	for i := range c.update {
		less := *c
		less.update = slices.Delete(slices.Clone(c.update), i, i+1)
		out = append(out, &less)
	}
	if c.create != nil {
		for i := range c.create.attrs {
			less, made := *c, *c.create
			made.attrs = slices.Delete(slices.Clone(c.create.attrs), i, i+1)
			less.create = &made
			out = append(out, &less)
		}
	}
	return out
}

// show returns a sequence as text. It has labels instead of Oids.
func show(all sequence) string {
	var b strings.Builder
	for i, r := range all {
		fmt.Fprintf(&b, "request %d by %s, yaml %v, preview %v:\n%s\n", i+1, r.by, r.yaml, r.preview, r.text(func(r ref) string { return "<" + r.label + ">" }))
	}
	return b.String()
}
