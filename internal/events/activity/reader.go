package activity

import (
	"context"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/store/db"
)

// maxBatch is the maximum number of changes that are read together. maxExamined is the maximum
// number of changes that a request examines. After that, the request returns where to continue.
// maxExamined applies to requests with verbs, and to callers who do not see all changes.
const (
	maxBatch    = 100
	maxExamined = 2000
)

// entry is one change of a stream.
type entry struct {
	found
	step    change.Step
	changes []change.Change // changes of values that the caller sees
	verb    Verb

	seen, seenBefore bool // whether the caller sees the version, and the previous version
}

// reader reads a part of one stream in one snapshot.
type reader struct {
	*Service
	tx   *db.Tx
	who  auth.Actor
	ask  *ask
	root *whole

	assets map[int64]*asset // key: stored id; nil: the asset does not exist
	people map[int64]*member

	hold *memory.Hold
	held int64

	w     []byte
	items int
	last  int64 // the moment of the last item
}

func (s *Service) newReader(ctx context.Context, tx *db.Tx, who auth.Actor, a *ask, root *whole) *reader {
	return &reader{
		Service: s, tx: tx, who: who, ask: a, root: root, hold: memory.From(ctx),
		assets: map[int64]*asset{}, people: map[int64]*member{},
	}
}

// take reserves memory for data that was read or that will be returned.
func (x *reader) take(bytes int64) error {
	err := x.hold.Take(bytes)
	if err == nil {
		x.held += bytes
	}
	return err
}

func (x *reader) release() {
	x.hold.Give(x.held)
	x.held = 0
}

// read reads batches until it has enough items. It also finds out whether another item follows.
func (x *reader) read(ctx context.Context) (Answer, error) {
	in, err := x.ask.window(ctx, x.tx)
	if err != nil {
		return Answer{}, err
	}
	x.w = append(x.w, '[')
	began := time.Now()
	for examined := 0; ; {
		n := min(max(1, x.ask.count-x.items+1), maxBatch)
		if len(x.ask.verbs) > 0 {
			n = maxBatch
		}
		before := x.held
		list, more, err := x.find(ctx, in, n)
		if err != nil {
			return Answer{}, err
		}
		read := x.held - before
		next, err := x.batch(ctx, list)
		if err != nil {
			return Answer{}, err
		}
		x.hold.Give(read)
		x.held -= read
		switch examined += len(list); {
		case next > 0:
		case !more:
			return Answer{Body: append(x.w, ']')}, nil
		default:
			last := list[len(list)-1].Moment
			in = x.ask.behind(in, last)
			if examined < maxExamined && (examined == x.items || time.Since(began) < x.Patience) {
				continue
			}
			next = last
		}
		return Answer{Body: append(x.w, ']'), Next: next}, nil
	}
}

// batch appends the items of changes to the answer. If it finds an item beyond the requested
// number, it stops and returns the moment of the last appended item. Otherwise it returns 0.
func (x *reader) batch(ctx context.Context, list []found) (next int64, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	entries, err := x.entries(ctx, list)
	if err != nil {
		return 0, err
	}
	for i := range entries {
		e := &entries[i]
		if !x.judge(e) || !x.ask.wants(e.verb) {
			continue
		}
		if x.items >= x.ask.count && e.Moment != x.last {
			return x.last, nil
		}
		if err := x.item(e); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// entries returns the changes as entries, in the same order. It also reads everything to which
// their items refer.
func (x *reader) entries(ctx context.Context, list []found) ([]entry, error) {
	all := make([]entry, len(list))
	linked := make([]*change.Step, 0, len(list))
	for i, f := range list {
		step := change.Step{Now: f.now, Before: f.was}
		if f.how == far {
			step = unversioned(*f.was, f.Moment)
		}
		all[i] = entry{found: f, step: step}
		linked = append(linked, &all[i].step)
	}
	if err := x.loader.Edges(ctx, x.tx, linked); err != nil {
		return nil, err
	}
	var err error
	for i := range all {
		if all[i].changes, err = x.differ.Diff(&all[i].step); err != nil {
			return nil, err
		}
		if all[i].how == far {
			all[i].changes = slices.DeleteFunc(all[i].changes, func(c change.Change) bool { return !manyToMany(c.Attr) })
		}
	}
	if err := x.look(ctx, all); err != nil {
		return nil, err
	}
	return all, x.visible(ctx, all)
}

// unversioned returns the step of an asset that changed at a moment, but has no version of its own
// at that moment.
func unversioned(v change.Version, moment int64) change.Step {
	now := v
	now.Moment, now.Linked = moment, true
	return change.Step{Now: now, Before: &v}
}

// grown checks the size of the answer, and reserves memory for the bytes after the offset in the
// parameter from. The error has the kind fault.Invalid if the answer is too large. It may also be
// an error of the reservation.
func (x *reader) grown(from int) error {
	if x.MaxAnswer > 0 && int64(len(x.w)) > x.MaxAnswer {
		return fault.Invalidf(fault.NoPlace, "the answer would be too large: the limit is %d bytes; ask for less", x.MaxAnswer)
	}
	return x.take(2 * int64(len(x.w)-from))
}
