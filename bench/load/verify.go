package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
)

// comparison is the result of comparing a batch with the stories that were read back.
type comparison struct {
	same    int      // stories that are unchanged byte for byte
	missing int      // stories that do not exist
	altered []string // differences of the stories that exist but have changed
}

// verdict returns "whole" or "absent", or "ALTERED" or "PART" for an invalid state.
func (c comparison) verdict() string {
	switch {
	case len(c.altered) > 0:
		return "ALTERED"
	case c.missing == 0:
		return "whole"
	case c.same == 0:
		return "absent"
	default:
		return "PART"
	}
}

// verify reads all projects and checks each request. If a request got status 200, all of its
// stories must exist. After any other result, all of its stories or none must exist.
func verify(ctx context.Context, c *client, j *journal, batches []batch, out io.Writer) error {
	there := map[string]map[string][]row{}
	for project, scope := range j.scopes {
		rows, err := c.stories(ctx, scope)
		if err != nil {
			return fmt.Errorf("read %s back: %w", project, err)
		}
		there[project] = byReference(rows)
	}
	bad, same := 0, 0
	for _, b := range batches {
		found := compare(b, there[b.project])
		same += found.same
		e, sent := j.requests[b.number]
		answered := sent && e.ok()
		verdict := found.verdict()
		if !answered || verdict != "whole" {
			fmt.Fprintf(out, "request %d (%s, %d stories): answered 200: %t; %s\n", b.number, b.project, len(b.stories), answered, verdict)
		}
		for _, what := range found.altered {
			fmt.Fprintln(out, "  "+what)
		}
		if verdict != "whole" && (answered || verdict != "absent") {
			bad++
		}
	}
	extra := unexpected(batches, there)
	fmt.Fprintf(out, "verified: %d stories came back byte for byte, %d stories nobody sent, %d requests in a wrong state\n", same, extra, bad)
	if bad > 0 || extra > 0 {
		return fmt.Errorf("what was read back is not what was sent")
	}
	return nil
}

// byReference groups rows by the key from which they were loaded.
func byReference(rows []row) map[string][]row {
	groups := map[string][]row{}
	for _, r := range rows {
		groups[text(r.Reference)] = append(groups[text(r.Reference)], r)
	}
	return groups
}

func compare(b batch, there map[string][]row) comparison {
	var c comparison
	for _, s := range b.stories {
		rows := there[s.key]
		if len(rows) == 0 {
			c.missing++
			continue
		}
		switch problem := difference(s, rows[0]); {
		case len(rows) > 1:
			c.altered = append(c.altered, fmt.Sprintf("%s is there %d times", s.key, len(rows)))
		case problem != "":
			c.altered = append(c.altered, s.key+": "+problem)
		default:
			c.same++
		}
	}
	return c
}

// difference returns the first difference between a story and its row, or "". A missing
// description is equal to an empty one.
func difference(s story, r row) string {
	estimate, err := strconv.ParseFloat(text(r.Estimate), 64)
	switch {
	case text(r.Name) != s.title:
		return fmt.Sprintf("Name %q became %q", s.title, text(r.Name))
	case text(r.Description) != s.description:
		return fmt.Sprintf("Description %.80q became %.80q", s.description, text(r.Description))
	case err != nil || estimate != s.points:
		return fmt.Sprintf("Estimate %v became %q", s.points, text(r.Estimate))
	}
	return ""
}

// unexpected returns the number of rows in the loaded projects that are in no batch.
func unexpected(batches []batch, there map[string]map[string][]row) int {
	known := map[[2]string]bool{}
	for _, b := range batches {
		for _, s := range b.stories {
			known[[2]string{b.project, s.key}] = true
		}
	}
	extra := 0
	for project, groups := range there {
		for key, rows := range groups {
			if !known[[2]string{project, key}] {
				extra += len(rows)
			}
		}
	}
	return extra
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
