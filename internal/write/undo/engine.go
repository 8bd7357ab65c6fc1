package undo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// Engine takes back writes. It is safe for concurrent use.
type Engine struct {
	MaxShown int // limit for the size of a preview in bytes

	assets *asset.Engine
}

// maxShown is the default of Engine.MaxShown.
const maxShown = 64 << 20

// New returns an engine that writes with assets.
func New(assets *asset.Engine) *Engine { return &Engine{MaxShown: maxShown, assets: assets} }

// Run takes back the changes that a request selects, and returns the answer. With Preview it
// changes nothing. If conflicts have refused the undo, the answer lists them, and IsRefused is true.
// Errors: fault.Invalid for a body that selects nothing, for changes before the horizon, and for too
// many changes; fault.NotFound for a write or an asset that does not exist, or that the caller may
// not see; the error of the first command that the rights or rules refuse, if there are no
// conflicts and conflicts are not skipped; those of asset.Engine.Answer.
// Spec: interface 4.17.
func (e *Engine) Run(ctx context.Context, who auth.Actor, r Request) (answer []byte, err error) {
	s, err := parse(r)
	if err != nil {
		return nil, err
	}
	once, err := e.assets.Identity(ctx, who, r.Key, r.Body, false)
	if err != nil {
		return nil, err
	}
	var all []*change
	find := func() (err error) {
		all, err = e.find(ctx, who, s, e.assets.MaxAssets)
		return err
	}
	req := asset.Request{ID: asset.NewRequestID(), Comment: r.Comment, Trial: r.Preview}
	if r.Preview {
		if err := find(); err != nil {
			return nil, err
		}
		err = e.assets.Write(ctx, who, req, func(w *asset.Session) (err error) {
			if answer, err = e.run(ctx, w, req.ID, r, s.skip, all); err == nil {
				err = asset.ErrRollback
			}
			return err
		})
		if errors.Is(err, asset.ErrRollback) {
			err = nil
		}
		return answer, err
	}
	return e.assets.AnswerAfter(ctx, who, req, once, find, func(w *asset.Session) ([]byte, error) {
		return e.run(ctx, w, req.ID, r, s.skip, all)
	})
}

// run takes back the changes in a session and returns the answer.
// Errors: asset.ErrRollback, with an answer, if conflicts refuse the undo.
func (e *Engine) run(ctx context.Context, w *asset.Session, id string, r Request, skip bool, all []*change) ([]byte, error) {
	res := &result{engine: e, session: w, id: id, preview: r.Preview, refuses: !skip}
	if err := res.takeBack(ctx, all, all, r.IfMoment); err != nil {
		return nil, err
	}
	if !res.isRefused() {
		return res.answer(true), nil
	}
	if res.failure != nil && res.Conflicts == 0 && !r.Preview {
		return nil, res.failure
	}
	if r.Preview {
		return res.answer(false), nil
	}
	return res.answer(false), asset.ErrRollback
}

// takeBack takes back a part of all changes of an undo.
func (r *result) takeBack(ctx context.Context, part, all []*change, ifMoment int64) error {
	commands := make([]*asset.Command, 0, len(part))
	changes := make([]*change, 0, len(part))
	for _, c := range part {
		if c.typ.Metadata {
			r.writes = append(r.writes, c.writes...)
			r.keep(c, "definitions")
			continue
		}
		changes = append(changes, c)
		commands = append(commands, &asset.Command{
			Verb: asset.Undo, Target: asset.Ref{OID: c.oid()}, IfMoment: ifMoment,
			Undone: &asset.Undone{Moments: c.moments, Linked: c.linked, Describe: r.preview},
		})
	}
	if len(all) == 0 {
		return nil
	}
	r.session.Count(len(commands))
	assets, since := make(map[int64]bool, len(all)), all[0].moments[0]
	for _, c := range all {
		assets[c.id] = true
		since = min(since, c.moments[0])
	}
	r.session.Undoes(assets, since, r.steps)
	outcomes, err := carryOut(ctx, r.session, commands)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if err := r.add(changes[i], commands[i].Undone, o); err != nil {
			return err
		}
	}
	return r.complete(ctx)
}

// carryOut runs the commands. Some may succeed only after others: an asset can be deleted after its parts, and
// an asset can be below another one after that one is no longer below it. So it runs those that failed or
// had conflicts again, as long as that changes something.
func carryOut(ctx context.Context, w *asset.Session, commands []*asset.Command) ([]asset.Outcome, error) {
	outcomes, before := make([]asset.Outcome, len(commands)), make([]asset.Undone, len(commands))
	rest := make([]int, len(commands)) // indexes of the commands to run
	for i := range rest {
		rest[i] = i
	}
	for first := true; len(rest) > 0; first = false {
		some := make([]*asset.Command, len(rest))
		for i, at := range rest {
			some[i] = commands[at]
		}
		done, err := w.Run(ctx, some)
		if err != nil {
			return nil, err
		}
		progress := first
		var again []int
		for i, at := range rest {
			outcomes[at] = done[i]
			u := commands[at].Undone
			if done[i].Err != nil {
				u.Changed, u.Changes = false, nil
			}
			progress = progress || u.Changed
			if done[i].Err != nil || u.Hidden+len(u.Conflicts) > 0 {
				again = append(again, at)
			}
			u.Changed, u.Changes = u.Changed || before[at].Changed, append(before[at].Changes, u.Changes...)
			before[at] = *u
		}
		if !progress {
			break
		}
		rest = again
	}
	return outcomes, nil
}

// eventRequests is the largest number of request ids in one event of the audit trail.
const eventRequests = 500

// note records in the audit trail which writes the session takes back.
func (r *result) note(ctx context.Context) error {
	var events []trail.Event
	for part := range slices.Chunk(r.taken, eventRequests) {
		events = append(events, trail.Event{
			Kind: trail.Undone, Actor: r.session.Who().Member, Count: len(part), Detail: trail.Detail{Request: r.id, Undone: part},
		})
	}
	return trail.Record(ctx, r.session.Tx(), events...)
}

// requestsOf reads the request ids of writes.
func (r *result) requestsOf(ctx context.Context, writes []int64) (all []string, err error) {
	slices.Sort(writes)
	for in, args := range db.InChunks(slices.Compact(writes)) {
		ids, err := db.Column[string](ctx, r.session.Tx(), `SELECT request_id FROM audit WHERE id IN `+in+` ORDER BY id`, args...)
		if err != nil {
			return nil, fmt.Errorf("read request ids: %w", err)
		}
		all = append(all, ids...)
	}
	return all, nil
}

// Carry takes back changes in a session, for a plan. id is the request id of the answer.
// Errors: those of Run; asset.ErrRollback, with an answer, if conflicts refuse the undo.
func (e *Engine) Carry(ctx context.Context, w *asset.Session, who auth.Actor, r Request, id string) ([]byte, error) {
	s, err := parse(r)
	if err != nil {
		return nil, err
	}
	all, err := e.findIn(ctx, w.Tx(), who, s, e.assets.MaxAssets)
	if err != nil {
		return nil, err
	}
	return e.run(ctx, w, id, r, s.skip, all)
}
