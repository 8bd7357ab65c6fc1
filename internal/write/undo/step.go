package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/requests"
)

// maxSteps limits an accepted undo: it may change this many times as many assets as one request may
// change.
const maxSteps = 10

// progress is what the steps of an accepted undo have done up to now.
type progress struct {
	tally
	After  place   // the last change that is taken back
	Done   int     // number of changes that are taken back or left
	All    int     // number of all changes
	Writes []int64 // ids of the audit rows of the steps
}

// Step carries out the next step of an accepted undo under its claim, and stores the progress or the
// answer. An undo of no more assets than one request may change has one step. A larger undo has steps of
// half as many assets. Each step is one transaction. If conflicts refuse a step, the steps before it stay.
// more is true if there is another step.
// Errors: those of Run; lease.ErrLost. If the caller then refuses the request, the answer still names the
// steps before (see Stopped).
// Spec: interface 4.17.3.
func (e *Engine) Step(ctx context.Context, who auth.Actor, r Request, claim *requests.Claim) (more bool, err error) {
	if r.Preview {
		answer, err := e.Run(ctx, who, r)
		if err != nil {
			return false, err
		}
		return false, claim.Complete(ctx, answer)
	}
	var p progress
	text, err := claim.Progress(ctx)
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return false, fmt.Errorf("progress of an undo: %w", err)
	}
	return e.step(ctx, who, r, p, claim)
}

func (e *Engine) step(ctx context.Context, who auth.Actor, r Request, p progress, claim *requests.Claim) (more bool, err error) {
	s, err := parse(r)
	if err != nil {
		return false, err
	}
	s.upTo = r.UpTo // the steps write, too
	all, err := e.find(ctx, who, s, maxSteps*e.assets.MaxAssets)
	if err != nil {
		return false, err
	}
	rest := all[p.begin(all):]
	part, one := rest, p.Done == 0 && (e.assets.MaxAssets == 0 || len(all) <= e.assets.MaxAssets)
	if !one {
		part = rest[:e.stepLen(rest)]
	}
	req := asset.Request{ID: claim.ID, Comment: r.Comment}
	if p.Done > 0 {
		req.ID = asset.NewRequestID()
	}
	var answer []byte
	err = e.assets.Write(ctx, who, req, func(w *asset.Session) (err error) {
		if one {
			if answer, err = e.run(ctx, w, req.ID, r, s.skip, all); err == nil {
				err = claim.End(ctx, w.Tx(), answer)
			}
			return err
		}
		next, err := e.take(ctx, w, req.ID, s.skip, part, all, p)
		next.All = p.Done + len(rest)
		if err != nil {
			answer = next.refused(claim.ID, err)
			return err
		}
		if more = len(part) < len(rest); !more {
			return claim.End(ctx, w.Tx(), next.answer(claim.ID, true, ""))
		}
		text, err := json.Marshal(next)
		if err != nil {
			return fmt.Errorf("encode the progress of an undo: %w", err)
		}
		return claim.Continue(ctx, w.Tx(), text, next.Done, next.All)
	})
	if errors.Is(err, asset.ErrRollback) {
		return false, claim.Complete(ctx, answer)
	}
	return more && err == nil, err
}

// stepLen returns how many of the changes one step takes back: half as many assets, and versions, as one
// request may.
func (e *Engine) stepLen(rest []*change) int {
	versions := 0
	for i, c := range rest {
		versions += len(c.moments)
		if i > 0 && (i >= e.assets.MaxAssets/2 || versions > maxVersionsByAsset*e.assets.MaxAssets/2) {
			return i
		}
	}
	return len(rest)
}

// Newest returns the moment of the newest change. An undo of what was written in a time, and that is carried
// out later, takes back nothing that is newer when it is accepted.
func (e *Engine) Newest(ctx context.Context) (int64, error) {
	all, err := db.Column[int64](ctx, e.assets.DB(), `SELECT COALESCE(MAX(moment), 0) FROM asset_version`)
	if err != nil {
		return 0, fmt.Errorf("read the newest change: %w", err)
	}
	return all[0], nil
}

// Stopped returns the answer of an accepted undo that is refused after some steps. text is what the last step has
// stored with Claim.Continue.
func Stopped(id string, text []byte, why error) []byte {
	var p progress
	if err := json.Unmarshal(text, &p); err != nil {
		return nil
	}
	return p.answer(id, false, fault.Public(why))
}

// begin returns the index of the first change after those that are taken back.
func (p *progress) begin(all []*change) int {
	if p.Done == 0 {
		return 0
	}
	i, found := slices.BinarySearchFunc(all, p.After, func(c *change, at place) int { return c.place().compare(at) })
	if found {
		i++
	}
	return i
}

// take takes back a part of all changes, and returns the progress after it.
// Errors: asset.ErrRollback if conflicts or failures refuse the part. The progress then has their numbers.
func (e *Engine) take(
	ctx context.Context, w *asset.Session, id string, skip bool, part, all []*change, p progress,
) (progress, error) {
	res := &result{tally: p.clone(), engine: e, session: w, id: id, refuses: !skip, steps: p.Writes}
	if err := res.takeBack(ctx, part, all, 0); err != nil {
		return p, err
	}
	next := p
	next.tally = res.tally
	if res.isRefused() {
		next.Assets, next.Modified = p.Assets, p.Modified
		return next, asset.ErrRollback
	}
	write, _, _ := w.Written()
	next.Steps, next.Writes = append(next.Steps, id), append(slices.Clip(p.Writes), write)
	next.Done += len(part)
	if len(part) > 0 {
		next.After = part[len(part)-1].place()
	}
	return next, nil
}

// clone returns a copy to which a transaction that may run again can add.
func (t *tally) clone() tally {
	c := *t
	c.Steps, c.Requests = slices.Clone(t.Steps), slices.Clone(t.Requests)
	c.Modified, c.List, c.Failures, c.Kept = slices.Clone(t.Modified), slices.Clone(t.List), slices.Clone(t.Failures), slices.Clone(t.Kept)
	return c
}

// refused returns the answer of an undo of which a step is refused.
func (p *progress) refused(id string, err error) []byte {
	if !errors.Is(err, asset.ErrRollback) {
		return nil
	}
	return p.answer(id, false, p.counted())
}

// answer returns the answer of an undo in steps. why says why a step is refused.
func (p *progress) answer(id string, undone bool, why string) []byte {
	if !undone {
		if p.Done == 0 {
			why = "Nothing was undone: " + why
		} else {
			why = fmt.Sprintf("%d of %d assets were undone, then the undo stopped: %s", p.Done, p.All, why)
		}
	}
	b := value.AppendStrings(append(p.append(id, undone, why), `,"steps":{"ids":`...), p.Steps)
	return fmt.Appendf(b, `,"count":%d,"done":%d,"of":%d}}`, len(p.Steps), p.Done, p.All)
}
