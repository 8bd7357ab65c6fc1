package check

import "slices"

// span is a stretch of moments in which something held; what tells spans apart
// that hold different things.
type span struct {
	since, until int64
	what         int
}

func (s span) overlaps(o span) bool { return s.since < o.until && o.since < s.until }

// joined sorts spans and joins those that touch and hold the same; it reports
// false when two overlap.
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
