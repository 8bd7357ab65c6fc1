package undo

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset"
)

// maxListed is the largest number of conflicts, and of failures, that an answer lists. It counts
// all of them.
const maxListed = 1000

// maxModified is the largest number of assets that an answer lists. It counts all of them.
const maxModified = 100_000

// result collects the answer while an undo, or a step of it, runs.
type result struct {
	tally
	engine  *Engine
	session *asset.Session
	id      string // request id of the write
	preview bool
	refuses bool    // true: a conflict or a failure refuses the undo
	steps   []int64 // ids of the audit rows of earlier steps

	writes  []int64  // ids of the audit rows that the undo is about
	changed []int64  // ids of the audit rows of which something was taken back
	taken   []string // their request ids

	listed  []asset.Conflict
	failure error // the first failure
	changes []byte
}

// tally is what an undo has done up to now. A step stores it for the next one. The byte slices are parts of
// the answer, in JSON.
type tally struct {
	Steps     []string // request ids of the writes that have taken something back, if there are several steps
	Requests  []string // request ids of the writes that the undo is about
	Modified  []byte   // Oids, quoted, with commas between them
	Assets    int      // number of modified assets
	List      []byte   // conflicts
	Listed    int      // number of conflicts in List
	Conflicts int      // number of all conflicts, with the hidden ones
	Hidden    int
	Failures  []byte
	Failed    int
	Kept      []byte
}

// IsRefused reports whether an answer, which may have been stored, says that conflicts have refused an undo,
// or a step of it. The answer to a preview never says that.
func IsRefused(answer []byte) bool {
	rest, not := bytes.CutPrefix(answer, []byte(`{"undone":false,"requestId":"`))
	_, rest, _ = bytes.Cut(rest, []byte(`"`))
	return not && bytes.HasPrefix(rest, []byte(`,"error":`))
}

// isRefused reports whether the undo must change nothing.
func (r *result) isRefused() bool { return r.refuses && r.Conflicts+r.Failed > 0 }

// add adds the outcome of one command.
func (r *result) add(c *change, u *asset.Undone, o asset.Outcome) error {
	r.Hidden += u.Hidden
	r.Conflicts += u.Hidden + len(u.Conflicts)
	if o.Skipped {
		return nil
	}
	r.writes = append(r.writes, c.writes...)
	r.listed = append(r.listed, u.Conflicts[:min(len(u.Conflicts), maxListed-r.Listed-len(r.listed))]...)
	for _, what := range u.Kept {
		r.keep(c, what)
	}
	if o.Err != nil {
		r.fail(c, o.Err)
		return nil
	}
	if !u.Changed {
		return nil
	}
	r.changed = append(r.changed, c.writes...)
	if r.Assets++; r.Assets <= maxModified {
		r.Modified = appendOID(comma(r.Modified), c.oid())
	}
	for _, change := range u.Changes {
		r.changes = appendReverted(comma(r.changes), c.oid(), change)
		if len(r.changes) > r.engine.MaxShown {
			return fault.Invalidf(fault.NoPlace, "The preview would be larger than %d bytes.", r.engine.MaxShown)
		}
	}
	return nil
}

func (r *result) fail(c *change, err error) {
	if r.failure == nil {
		r.failure = err
	}
	if r.Failed++; r.Failed > maxListed {
		return
	}
	b := append(comma(r.Failures), `{"asset":`...)
	b = append(appendOID(b, c.oid()), `,"error":{"message":`...)
	r.Failures = append(value.AppendString(b, fault.Public(err)), `}}`...)
}

func (r *result) keep(c *change, what string) {
	b := append(comma(r.Kept), `{"asset":`...)
	b = append(appendOID(b, c.oid()), `,"what":`...)
	r.Kept = append(value.AppendString(b, what), '}')
}

// complete reads what the answer needs besides the outcomes, and records the undo in the audit trail.
func (r *result) complete(ctx context.Context) error {
	if err := r.session.Explain(ctx, r.listed); err != nil {
		return err
	}
	for i := range r.listed {
		r.List = appendConflict(comma(r.List), &r.listed[i])
	}
	r.Listed += len(r.listed)
	requests, err := r.requestsOf(ctx, r.writes)
	r.Requests = append(r.Requests, requests...)
	slices.Sort(r.Requests)
	r.Requests = slices.Compact(r.Requests)
	if err != nil || r.isRefused() || r.preview {
		return err
	}
	if r.taken, err = r.requestsOf(ctx, r.changed); err != nil {
		return err
	}
	return r.note(ctx)
}

// answer returns the answer of an undo that is carried out or refused as a whole.
func (r *result) answer(undone bool) []byte {
	why := ""
	if !undone && !r.preview {
		why = "Nothing was undone: " + r.counted()
	}
	b := r.append(r.id, undone, why)
	if r.preview {
		b = append(memory.Append(append(b, `,"changes":[`...), r.changes), ']')
	}
	return append(b, '}')
}

// append returns an answer without the last brace. why is the reason if nothing, or not everything, was
// undone. Spec: interface 4.17.
func (t *tally) append(id string, undone bool, why string) []byte {
	b := append([]byte(`{"undone":`), strconv.FormatBool(undone)...)
	b = value.AppendString(append(b, `,"requestId":`...), id)
	if why != "" {
		quoted := value.AppendString(nil, why)
		b = append(append(append(b, `,"error":`...), quoted...), `,"exceptions":[{"message":`...)
		b = append(append(b, quoted...), `}]`...)
	}
	b = value.AppendStrings(append(b, `,"requests":{"ids":`...), t.Requests)
	b = strconv.AppendInt(append(b, `,"count":`...), int64(len(t.Requests)), 10)
	b = memory.Append(append(b, `},"assetsModified":{"oidTokens":[`...), t.Modified)
	b = strconv.AppendInt(append(b, `],"count":`...), int64(t.Assets), 10)
	b = append(append(b, `},"conflicts":{"list":[`...), t.List...)
	b = strconv.AppendInt(append(b, `],"count":`...), int64(t.Conflicts), 10)
	b = strconv.AppendInt(append(b, `,"hidden":`...), int64(t.Hidden), 10)
	b = append(append(b, `},"failures":{"list":[`...), t.Failures...)
	b = strconv.AppendInt(append(b, `],"count":`...), int64(t.Failed), 10)
	return append(append(append(b, `},"notUndone":[`...), t.Kept...), ']')
}

// counted returns the numbers of conflicts and failures in words.
func (t *tally) counted() string {
	text := strconv.Itoa(t.Conflicts) + " conflicts"
	if t.Conflicts == 1 {
		text = "1 conflict"
	}
	switch t.Failed {
	case 0:
		return text
	case 1:
		return text + " and 1 failure"
	}
	return text + " and " + strconv.Itoa(t.Failed) + " failures"
}

// appendConflict appends a conflict: what has changed since, by whom, and when.
//
//	{"asset":"Story:1005","attribute":"Name","changedBy":"Member:20","changeDate":"…","moment":1234}
func appendConflict(b []byte, c *asset.Conflict) []byte {
	b = appendOID(append(b, `{"asset":`...), c.Asset)
	if c.Attr != "" {
		b = value.AppendString(append(b, `,"attribute":`...), c.Attr)
	}
	if c.By != "" {
		b = value.AppendString(append(b, `,"changedBy":`...), c.By)
	}
	if c.Moment != 0 {
		b = value.AppendInstant(append(b, `,"changeDate":"`...), c.At)
		b = strconv.AppendInt(append(b, `","moment":`...), c.Moment, 10)
	}
	return append(b, '}')
}

// appendReverted appends what an undo changes on an asset.
//
//	{"asset":"Story:1005","attribute":"Name","old":"a","new":"b"}
//	{"asset":"Story:1005","attribute":"Owners","added":["Member:20"],"removed":[]}
func appendReverted(b []byte, o oid.OID, r asset.Reverted) []byte {
	b = appendOID(append(b, `{"asset":`...), o)
	b = value.AppendString(append(b, `,"attribute":`...), r.Attr.Name)
	if r.Attr.Multi {
		b = value.AppendStrings(append(b, `,"added":`...), r.Added)
		return append(value.AppendStrings(append(b, `,"removed":`...), r.Removed), '}')
	}
	b = asset.AppendValue(append(b, `,"old":`...), r.Attr, r.Old)
	return append(asset.AppendValue(append(b, `,"new":`...), r.Attr, r.New), '}')
}

func appendOID(b []byte, o oid.OID) []byte {
	return append(o.Append(append(b, '"')), '"')
}

func comma(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	return append(b, ',')
}
