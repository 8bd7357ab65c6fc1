package feed

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/db"
)

// Limits of one read.
const (
	maxAudits  = 200
	maxMoments = change.ChunkSize // sum of the moments of the writes in a group
	maxSpan    = 2 * maxMoments   // range from the first to the last moment of a group
	maxBatch   = 200              // maximum number of changes that are matched together
	minBatch   = 50
	batchBytes = 8 << 20 // size in bytes of the versions of a batch, unless the batch has only one change
)

// reader reads the page of one request in one snapshot.
type reader struct {
	*Service
	*question
	tx   *db.Tx
	hold *memory.Hold

	page     Page
	examined int
	full     bool // true: the page ends before the end of the feed
	short    bool // true: there was too little memory for the current batch
}

// audit is a write. Its moments from first to last must be read.
type audit struct {
	event.Audit
	position    int64
	first, last int64
}

// place is the place of a version in the feed.
type place struct {
	audit *audit
	change.At
}

// cursor returns the cursor after the version.
func (p *place) cursor() Cursor { return Cursor{p.audit.position, p.Moment} }

// begin starts to read a page. p contains what was already read before. begin is called again if
// the database restarts the transaction.
func (x *reader) begin(tx *db.Tx, p Page, examined int) {
	x.hold.Give(x.page.Bytes - p.Bytes) // gives back what was reserved before the restart of the transaction
	x.tx, x.page, x.examined, x.full = tx, p, examined, false
	x.page.Events = slices.Clip(p.Events)
}

// readAll reads until the page is full, or until all changes that have a position were read.
func (x *reader) readAll(ctx context.Context) error {
	if err := x.checkModel(ctx, x.tx); err != nil {
		return err
	}
	if err := history.CheckFeed(ctx, x.tx, history.Place(x.page.Next)); err != nil {
		return err
	}
	for !x.full {
		audits, err := x.audits(ctx)
		if err != nil {
			return err
		}
		for rest := audits; len(rest) > 0 && !x.full; {
			n, upTo := group(rest)
			if err := x.group(ctx, rest[:n], upTo); err != nil {
				return err
			}
			if last := rest[n-1]; !x.full && upTo < last.last {
				rest[0].first = upTo + 1 // the next group continues in the same large write
			} else {
				rest = rest[n:]
			}
		}
		if len(audits) < maxAudits {
			return nil
		}
	}
	return nil
}

// audits reads the next writes after the place where the page ends so far.
func (x *reader) audits(ctx context.Context) ([]*audit, error) {
	at := x.page.Next
	return db.Collect(ctx, x.tx, `SELECT id, request_id, COALESCE(reason, ''), COALESCE(application, ''), COALESCE(tool, ''), actor_id, at, first_moment, last_moment, generation, feed FROM audit WHERE feed >= ? ORDER BY feed LIMIT ?`,
		[]any{at.Position, maxAudits}, func(row db.Scanner) (*audit, error) {
			var a audit
			err := row.Scan(&a.ID, &a.Request, &a.Reason, &a.Application, &a.Tool, &a.Actor, &a.At, &a.first, &a.last, &a.Generation, &a.position)
			if a.position == at.Position {
				a.first = max(a.first, at.Moment+1)
			}
			return &a, err
		})
}

// group returns how many writes are read together, and up to which moment. A group consists of
// several small writes whose moments are close together, or of a part of a large write.
func group(audits []*audit) (n int, upTo int64) {
	first, sum := audits[0].first, int64(0)
	for i, a := range audits {
		from, to := min(first, a.first), max(upTo, a.last)
		if sum += a.last - a.first + 1; sum > maxMoments || to-from >= maxSpan {
			if i == 0 {
				return 1, min(a.last, a.first+maxMoments-1)
			}
			return i, upTo
		}
		first, upTo = from, to
	}
	return len(audits), upTo
}

// group reads the versions of the writes in a group, and adds the changes that match to the page.
func (x *reader) group(ctx context.Context, audits []*audit, upTo int64) error {
	places, err := x.places(ctx, audits, upTo)
	if err != nil {
		return err
	}
	for len(places) > 0 && !x.full {
		n, err := x.batch(ctx, places[:min(len(places), max(x.size-len(x.page.Events), minBatch), maxBatch)])
		if err != nil {
			return err
		}
		places = places[n:]
		if len(places) > 0 && x.page.Bytes >= maxBytes && x.page.Next != places[0].cursor() {
			x.full = true
		}
	}
	if x.full {
		return nil
	}
	last := audits[len(audits)-1]
	if x.page.Next = (Cursor{Position: last.position + 1}); upTo < last.last {
		x.page.Next = Cursor{last.position, upTo}
	}
	if x.examined += int(max(upTo-audits[0].first+1, 1)); x.examined >= maxExamined || x.page.Bytes >= maxBytes {
		x.full = true
	}
	return nil
}

// places returns the places of those versions of the writes that a rule may match. They are in the
// order of the feed.
func (x *reader) places(ctx context.Context, audits []*audit, upTo int64) ([]place, error) {
	byID, first := make(map[int64]*audit, len(audits)), audits[0].first
	ids := make([]int64, len(audits))
	for i, a := range audits {
		byID[a.ID], ids[i], first = a, a.ID, min(first, a.first)
	}
	in, args := db.InArgs(ids)
	var places []place
	err := db.Each(ctx, x.tx, `SELECT id, moment, audit_id FROM asset_version WHERE moment BETWEEN ? AND ? AND audit_id IN `+in+` AND type IN (`+x.typeCodes()+`)`,
		append([]any{first, upTo}, args...), func(row db.Scanner) error {
			p, err := placeOf(row, byID)
			if err == nil && p.Moment >= p.audit.first && p.Moment <= p.audit.last {
				places = append(places, p)
			}
			return err
		})
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.audit.position, b.audit.position), cmp.Compare(a.Moment, b.Moment), cmp.Compare(a.ID, b.ID))
	})
	return places, err
}

// placeOf returns the place of a version. row has the id and the moment of the version and the id of its
// audit; byID has the audits. A row cannot be read after the context of the query has ended.
func placeOf(row db.Scanner, byID map[int64]*audit) (place, error) {
	var p place
	var id int64
	if err := row.Scan(&p.ID, &p.Moment, &id); err != nil {
		return p, err
	}
	p.audit = byID[id]
	return p, nil
}

// typeCodes returns the codes of the types that a rule may match, as a comma-separated list for
// SQL. The codes come from the model, not from input.
func (x *reader) typeCodes() string {
	all := make([]string, len(x.codes))
	for i, code := range x.codes {
		all[i] = strconv.Itoa(code)
	}
	return strings.Join(all, ",")
}

// errSmaller means that a batch needs too much memory.
var errSmaller = errors.New("the versions of a batch are too large")

// batch adds the changes at places to the page, and returns how many places it has processed. If
// the versions are too large, it processes only the first places.
func (x *reader) batch(ctx context.Context, places []place) (int, error) {
	for n := len(places); ; n = max(n/8, 1) {
		x.full, x.short = false, false // an attempt with more places may have set them
		taken, err := x.match(ctx, places[:n])
		x.hold.Give(taken)
		smaller := errors.Is(err, errSmaller) || errors.Is(err, change.ErrTooLarge) || x.short && len(x.page.Events) == 0
		if err == nil || n == 1 || !smaller {
			return n, err
		}
	}
}

// endBefore ends the page before a place for which there is too little memory. It returns err if
// the page is empty, or if the page would end between changes of one moment.
func (x *reader) endBefore(at Cursor, err error) error {
	if len(x.page.Events) == 0 || x.page.Next == at {
		return err
	}
	x.full = true
	return nil
}

// load reads the versions at places. The result taken is the number of bytes of memory that it has
// reserved.
func (x *reader) load(ctx context.Context, l *change.Loader, places []place) (versions []change.Version, taken int64, err error) {
	at := make([]change.At, len(places))
	for i, p := range places {
		at[i] = p.At
	}
	versions, err = l.VersionsAt(ctx, x.tx, at, func(bytes int64) error {
		bytes *= 3 // for the version, the previous version, and the data made from both
		if taken+bytes > batchBytes && len(places) > 1 {
			return errSmaller
		}
		if err := x.hold.Take(bytes); err != nil {
			if len(places) > 1 {
				return errSmaller
			}
			x.short = true
			return err
		}
		taken += bytes
		return nil
	})
	return versions, taken, err
}

// match adds the changes at places to the page. The result taken is the number of bytes of memory
// that it has reserved.
func (x *reader) match(ctx context.Context, places []place) (taken int64, err error) {
	audits := map[int64]*event.Audit{}
	positions := map[int64]int64{}
	for _, p := range places {
		audits[p.audit.ID], positions[p.audit.ID] = &p.audit.Audit, p.audit.position
	}
	index := x.index.In(x.tx)
	versions, taken, err := x.load(ctx, index.Loader, places)
	switch {
	case x.short:
		return taken, x.endBefore(places[0].cursor(), err)
	case err != nil:
		return taken, err
	}
	m := index.NewMatcher(present{x.who}, func(string, int) {})
	events, err := m.Match(ctx, audits, versions)
	if err != nil {
		return taken, err
	}
	hidden, events, err := x.visible(ctx, events)
	if err != nil {
		return taken, err
	}
	last := places[len(places)-1]
	end := last.cursor()
	if room := x.size - len(x.page.Events); len(events) >= room && room > 0 {
		for room < len(events) && events[room].Step.Now.Moment == events[room-1].Step.Now.Moment {
			room++ // a cursor cannot be between changes of one moment
		}
		events, x.full = events[:room], true
		now := events[room-1].Step.Now
		end = Cursor{positions[now.Audit], now.Moment}
	}
	if len(events) == 0 {
		x.page.Next = end
		return taken, nil
	}
	return taken, x.print(ctx, index, m, events, positions, hidden, end)
}

// print adds events to the page until the page is full. If it adds all events, the next page begins
// at the cursor end.
func (x *reader) print(ctx context.Context, index *event.Index, m *event.Matcher, events []*event.Event, positions map[int64]int64, hidden []int64, end Cursor) error {
	if err := m.Snapshots(ctx, events); err != nil {
		return err
	}
	p, err := index.Printer(ctx, events)
	if err != nil {
		return err
	}
	for _, member := range hidden {
		p.HideInstigator(member)
	}
	var common []byte
	for i, e := range events {
		if common, err = p.Common(common[:0], e); err != nil {
			return err
		}
		text := m.Text(x.target, x.target.Head, e, common)
		now := e.Step.Now
		next := Cursor{positions[now.Audit], now.Moment}
		if len(text) > 0 {
			if err := x.hold.Take(int64(len(text))); err != nil {
				x.short = true
				return x.endBefore(next, err)
			}
			x.page.Bytes += int64(len(text))
			x.page.Events = append(x.page.Events, Event{text, next})
		}
		x.page.Next = next
		if x.page.Bytes >= maxBytes && i < len(events)-1 && events[i+1].Step.Now.Moment != now.Moment {
			x.full = true
			return nil
		}
	}
	x.page.Next = end
	return nil
}

// present implements event.Actors. It returns the current rights of the reader for every moment.
type present struct{ who auth.Actor }

// ActorAt returns the actor.
func (p present) ActorAt(context.Context, int64, int64) (auth.Actor, error) { return p.who, nil }

// Steady returns true.
func (present) Steady(context.Context, int64, int64, int64) (bool, error) { return true, nil }
