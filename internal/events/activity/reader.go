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

// maxBatch is how many changes are read together. maxExamined is how many changes a request
// examines before it returns where to continue. It applies to requests with verbs, and to
// callers who do not see all changes.
const (
	maxBatch    = 100
	maxExamined = 2000
)

// entry is one change of a stream.
type entry struct {
	found
	step    change.Step
	changes []change.Change // that the caller sees
	verb    Verb

	seen, seenBefore bool // the caller sees the version, and the previous one
}

// reader reads a part of one stream in one snapshot.
type reader struct {
	*Service
	tx   *db.Tx
	who  auth.Actor
	ask  *ask
	root *whole

	assets map[int64]*asset // by stored id; nil if the asset does not exist
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

// take reserves memory for data that is read or returned.
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

// read reads batches until there are enough items, and it is known whether there is another.
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

// batch appends the items of some changes. If there is an item more than requested, batch returns
// the moment of the last item that it has appended; otherwise 0.
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

// entries completes changes, in order, and reads everything that their items name.
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

// unversioned returns the step of an asset that changed at a moment without a version of its
// own.
func unversioned(v change.Version, moment int64) change.Step {
	now := v
	now.Moment, now.Linked = moment, true
	return change.Step{Now: now, Before: &v}
}

// grown checks the size of the answer, and reserves memory for what was appended after offset from.
// Errors: fault.Invalid for an answer that is too large; those of the memory.
func (x *reader) grown(from int) error {
	if x.MaxAnswer > 0 && int64(len(x.w)) > x.MaxAnswer {
		return fault.Invalidf(fault.NoPlace, "the answer would be too large: the limit is %d bytes; ask for less", x.MaxAnswer)
	}
	return x.take(2 * int64(len(x.w)-from))
}
