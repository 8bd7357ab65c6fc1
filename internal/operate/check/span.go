package check

import (
	"cmp"
	"context"
	"slices"
)

// span is a range of moments. It includes since, but not until.
type span struct {
	since, until int64
	what         int // the depth in a tree, or the side of a comparison: 0 or 1
}

// pair has the ids of a project and a project below it, or of a project and a member.
type pair struct{ a, b int64 }

// eachPair calls fn for each pair, with all spans of the pair. The query must select a, b, since,
// until and what, and sort by a and b. The column of k must be the column a of the query. The query
// runs once for each part of k.
func (c *checker) eachPair(
	ctx context.Context, k key, fn func(p pair, spans []span) error, query string, args ...any,
) error {
	var at pair
	var spans []span
	err := c.eachIn(ctx, k, func(scan row) error {
		var p pair
		var s span
		if err := scan(&p.a, &p.b, &s.since, &s.until, &s.what); err != nil {
			return err
		}
		if p != at && spans != nil {
			if err := fn(at, spans); err != nil {
				return err
			}
			spans = nil
		}
		at, spans = p, append(spans, s)
		return nil
	}, query, args...)
	if err == nil && spans != nil {
		err = fn(at, spans)
	}
	return err
}

// bySide separates the spans of side 0 from the spans of side 1. In the result the field what is 0.
func bySide(spans []span) (sides [2][]span) {
	for _, s := range spans {
		side := s.what
		s.what = 0
		sides[side] = append(sides[side], s)
	}
	return sides
}

// lacking returns the spans that are in the list all but not in the list some. It returns nil if
// the list some contains a span that is not in the list all.
func lacking(all, some []span) []span {
	for _, s := range some {
		if !slices.Contains(all, s) {
			return nil
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s span) bool { return slices.Contains(some, s) })
}

// behind returns the parts of spans that are at the moment or after it.
func behind(moment int64, spans []span) (out []span) {
	for _, s := range spans {
		if s.until > moment {
			out = append(out, span{max(s.since, moment), s.until, s.what})
		}
	}
	return out
}

func (s span) overlaps(o span) bool { return s.since < o.until && o.since < s.until }

// union sorts spans and joins spans that touch or overlap.
func union(all []span) (out []span) {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.since, b.since) })
	for _, s := range all {
		if n := len(out); n > 0 && s.since <= out[n-1].until {
			out[n-1].until = max(out[n-1].until, s.until)
			continue
		}
		out = append(out, s)
	}
	return out
}

// joined sorts spans, and joins spans that touch and have the same value in the field what. It
// returns false if two spans overlap.
func joined(all []span) ([]span, bool) {
	slices.SortFunc(all, func(a, b span) int {
		if a.since < b.since {
			return -1
		}
		return 1
	})
	var out []span
	for _, s := range all {
		n := len(out)
		switch {
		case n > 0 && s.since < out[n-1].until:
			return nil, false
		case n > 0 && s.since == out[n-1].until && s.what == out[n-1].what:
			out[n-1].until = s.until
		default:
			out = append(out, s)
		}
	}
	return out, true
}
