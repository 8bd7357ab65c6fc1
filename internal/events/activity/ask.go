package activity

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/db"
)

// Request contains the parameters in the URL of a request for a stream. A stream lists the changes
// of one asset. An empty field counts as a missing parameter.
type Request struct {
	OID                                       string
	Anchor, Direction, MaxCount, Verbs, After string
	Deleted                                   string // "true": the asset of the stream may be deleted
}

// The default and the maximum of maxCount.
const (
	defaultCount = 25
	MaxCount     = 1000
)

// ask is a parsed request.
type ask struct {
	oid     oid.OID
	forward bool
	count   int
	verbs   []Verb // empty: all verbs
	anchor  int64  // in UTC microseconds
	now     bool   // true: the request has no anchor, so it begins at the current time
	after   int64  // the stream continues after this moment; -1: the stream begins at the anchor
	deleted bool
}

// read parses a request. It returns an error of the kind fault.Invalid for an invalid parameter.
func (r Request) read() (ask, error) {
	a := ask{count: defaultCount, after: -1, now: r.Anchor == ""}
	var err error
	if a.oid, err = oid.Parse(r.OID); err != nil {
		return a, err
	}
	if a.oid.IsNull() {
		return a, oid.Invalid(r.OID)
	}
	if !a.now {
		var ok bool
		if a.anchor, ok = value.Instant(r.Anchor); !ok {
			return a, invalid("anchorDate is no date: %s", r.Anchor)
		}
	}
	switch strings.ToLower(r.Direction) {
	case "", "back":
	case "forward":
		a.forward = true
	default:
		return a, invalid("Invalid direction: %s", r.Direction)
	}
	if r.MaxCount != "" {
		if a.count, err = strconv.Atoi(r.MaxCount); err != nil || a.count < 1 || a.count > MaxCount {
			return a, invalid("Invalid maxCount: %s (1 to %d)", r.MaxCount, MaxCount)
		}
	}
	if r.After != "" {
		if a.after, err = strconv.ParseInt(r.After, 10, 64); err != nil || a.after < 0 || a.after >= db.Forever {
			return a, invalid("Invalid after: %s", r.After)
		}
	}
	switch strings.ToLower(r.Deleted) {
	case "", "false":
	case "true":
		a.deleted = true
	default:
		return a, invalid("deleted must be true or false")
	}
	a.verbs, err = readVerbs(r.Verbs)
	return a, err
}

func invalid(format string, args ...any) error {
	return fault.Invalidf(fault.NoPlace, format, args...)
}

// readVerbs reads a comma-separated list of verbs in upper or lower case. It returns an error of
// the kind fault.Invalid for an unknown verb.
func readVerbs(text string) ([]Verb, error) {
	if text == "" {
		return nil, nil
	}
	var list []Verb
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		i := slices.IndexFunc(verbs, func(v Verb) bool { return strings.EqualFold(string(v), word) })
		if i < 0 {
			return nil, invalid("Unknown verb: %s", word)
		}
		list = append(list, verbs[i])
	}
	return list, nil
}

// wants reports whether the request includes items with this verb.
func (a *ask) wants(v Verb) bool { return len(a.verbs) == 0 || slices.Contains(a.verbs, v) }

// window is a range of moments, including both ends.
type window struct{ from, to int64 }

// everything is the window that contains all moments of changes.
var everything = window{0, db.Forever - 1}

// window returns the range of the requested moments. If the request goes backward, the range ends
// at the anchor. If it goes forward, the range begins after the anchor. The range excludes moments
// before the horizon, where history may have been removed.
//
// The error has the kind fault.Invalid if the anchor is before the horizon, or if the request goes
// forward from a moment before the horizon.
func (a *ask) window(ctx context.Context, q db.Querier) (window, error) {
	w := everything
	h, err := history.Of(ctx, q)
	if err == nil && a.forward && a.after >= 0 {
		err = h.CheckMoment(a.after)
	}
	if err != nil {
		return w, err
	}
	if h.Moment > 0 {
		w.from = h.Moment + 1
	}
	switch {
	case !a.now:
		moment, _, err := history.MomentOf(ctx, q, a.anchor)
		if err != nil {
			return w, err
		}
		if a.forward {
			w.from = moment + 1
		} else {
			w.to = moment
		}
	case a.forward && a.after < 0:
		w.from = math.MaxInt64 // nothing is later than now
	}
	if a.after >= 0 {
		w = a.behind(w, a.after)
	}
	return w, nil
}

// behind returns the part of a window that comes after a moment in the requested direction.
func (a *ask) behind(w window, moment int64) window {
	if a.forward {
		w.from = max(w.from, moment+1)
	} else {
		w.to = min(w.to, moment-1)
	}
	return w
}
