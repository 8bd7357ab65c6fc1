package undo

import (
	"bytes"
	"context"
	"strconv"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset"
)

// maxListed is the largest number of conflicts, and of failures, that an answer lists. It counts
// all of them.
const maxListed = 1000

// result collects the answer while an undo runs.
type result struct {
	engine  *Engine
	session *asset.Session
	id      string
	preview bool
	refuses bool // true: a conflict or a failure refuses the undo

	writes   []int64  // ids of the audit rows that the undo is about
	requests []string // their request ids
	changed  []int64  // ids of the audit rows of which something was taken back
	taken    []string // their request ids

	modified    []byte // Oids, quoted, with commas between them
	assets      int    // number of Oids
	listed      []asset.Conflict
	conflicts   int // including the hidden ones
	hidden      int
	failures    []byte
	failed      int
	failure     error // the first failure
	definitions []*change
	kept        []byte
	changes     []byte
}

// isUndone reports whether an answer, which may have been stored, says that the undo was carried out.
func isUndone(answer []byte) bool { return bytes.HasPrefix(answer, []byte(`{"undone":true`)) }

// isRefused reports whether the undo must change nothing.
func (r *result) isRefused() bool { return r.refuses && r.conflicts+r.failed > 0 }

// add adds the outcome of one command.
func (r *result) add(c *change, u *asset.Undone, o asset.Outcome) error {
	r.hidden += u.Hidden
	r.conflicts += u.Hidden + len(u.Conflicts)
	if o.Skipped {
		return nil
	}
	r.writes = append(r.writes, c.writes...)
	r.listed = append(r.listed, u.Conflicts[:min(len(u.Conflicts), maxListed-len(r.listed))]...)
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
	r.assets++
	r.modified = appendOID(comma(r.modified), c.oid())
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
	if r.failed++; r.failed > maxListed {
		return
	}
	b := append(comma(r.failures), `{"asset":`...)
	b = append(appendOID(b, c.oid()), `,"error":{"message":`...)
	r.failures = append(value.AppendString(b, fault.Public(err)), `}}`...)
}

func (r *result) keep(c *change, what string) {
	b := append(comma(r.kept), `{"asset":`...)
	b = append(appendOID(b, c.oid()), `,"what":`...)
	r.kept = append(value.AppendString(b, what), '}')
}

// complete reads what the answer needs besides the outcomes, and records the undo in the audit trail.
func (r *result) complete(ctx context.Context) error {
	for _, c := range r.definitions {
		r.writes = append(r.writes, c.writes...)
		r.keep(c, "definitions")
	}
	if err := r.session.Explain(ctx, r.listed); err != nil {
		return err
	}
	var err error
	if r.requests, err = r.requestsOf(ctx, r.writes); err != nil || r.isRefused() || r.preview {
		return err
	}
	if r.taken, err = r.requestsOf(ctx, r.changed); err != nil {
		return err
	}
	return r.note(ctx)
}

// append returns the answer. Spec: interface 4.17.
func (r *result) append(undone bool) []byte {
	b := append([]byte(`{"undone":`), strconv.FormatBool(undone)...)
	b = value.AppendString(append(b, `,"requestId":`...), r.id)
	if !undone && !r.preview {
		why := value.AppendString(nil, "Nothing was undone: "+r.counted())
		b = append(append(append(b, `,"error":`...), why...), `,"exceptions":[{"message":`...)
		b = append(append(b, why...), `}]`...)
	}
	b = append(b, `,"requests":{"ids":[`...)
	for i, id := range r.requests {
		if i > 0 {
			b = append(b, ',')
		}
		b = value.AppendString(b, id)
	}
	b = strconv.AppendInt(append(b, `],"count":`...), int64(len(r.requests)), 10)
	b = memory.Append(append(b, `},"assetsModified":{"oidTokens":[`...), r.modified)
	b = strconv.AppendInt(append(b, `],"count":`...), int64(r.assets), 10)
	b = append(b, `},"conflicts":{"list":[`...)
	for i := range r.listed {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendConflict(b, &r.listed[i])
	}
	b = strconv.AppendInt(append(b, `],"count":`...), int64(r.conflicts), 10)
	b = strconv.AppendInt(append(b, `,"hidden":`...), int64(r.hidden), 10)
	b = append(append(b, `},"failures":{"list":[`...), r.failures...)
	b = strconv.AppendInt(append(b, `],"count":`...), int64(r.failed), 10)
	b = append(append(append(b, `},"notUndone":[`...), r.kept...), ']')
	if r.preview {
		b = append(memory.Append(append(b, `,"changes":[`...), r.changes), ']')
	}
	return append(b, '}')
}

// counted returns the numbers of conflicts and failures in words.
func (r *result) counted() string {
	text := strconv.Itoa(r.conflicts) + " conflicts"
	if r.conflicts == 1 {
		text = "1 conflict"
	}
	switch r.failed {
	case 0:
		return text
	case 1:
		return text + " and 1 failure"
	}
	return text + " and " + strconv.Itoa(r.failed) + " failures"
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
		b = appendTexts(append(b, `,"added":`...), r.Added)
		return append(appendTexts(append(b, `,"removed":`...), r.Removed), '}')
	}
	b = appendValue(append(b, `,"old":`...), r.Attr, r.Old)
	return append(appendValue(append(b, `,"new":`...), r.Attr, r.New), '}')
}

func appendValue(b []byte, a *meta.Attr, v any) []byte {
	if token, ok := v.(string); ok && a.Kind == meta.Relation {
		return value.AppendString(b, token)
	}
	s, ok := value.Of(v)
	if !ok || v == nil {
		return append(b, "null"...)
	}
	return value.AppendRow(b, s, a.Kind, a)
}

func appendTexts(b []byte, all []string) []byte {
	b = append(b, '[')
	for i, text := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = value.AppendString(b, text)
	}
	return append(b, ']')
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
