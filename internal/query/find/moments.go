package find

import (
	"context"
	"encoding/json"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/db"
)

// Snapshot returns one row for each asset version in at, in the same order, with the data as it was
// at the moment of that version. A row is nil if the version is not of type typ, or if the actor
// does not see it. While the rows are read, they count as memory of the hold in the context
// (package memory).
// Errors: fault.Invalid for names that the model does not have; errors of the hold.
func (f *Finder) Snapshot(ctx context.Context, q db.Querier, who auth.Actor, typ string, sel []string, at []oid.OID) ([]json.RawMessage, error) {
	r := definition(typ, nil, nil, sel)
	rows := make([]json.RawMessage, len(at))
	e := encode.Rows{Model: f.m} // without a Sink, a content is shown as a reference
	made := reservation{hold: memory.From(ctx)}
	defer made.release()
	size := int64(0)
	err := f.atMoments(ctx, q, who, r, at, func(ctx context.Context, x *executor, ids, moments []int64, places map[version][]int) error {
		s, err := x.read(ctx, x.w.Block(&x.plan.Select, ids, moments), &x.plan.Body, len(x.plan.Cells))
		if err != nil {
			return err
		}
		return x.emit(ctx, s, inOrder(s.Len()), func(s *encode.Set, row int32) error {
			for _, i := range places[x.place(s, row)] {
				rows[i] = e.Row(nil, s, row)
				size += int64(len(rows[i]))
			}
			return made.grow(size)
		})
	})
	return rows, err
}

// Matching reports for each asset version in at whether it matches. A version matches if it is of
// type typ, the actor sees it, and all filters hold for the data as it was at the moment of the
// version. Versions of deleted assets can match, too.
// Errors: fault.Invalid for invalid filters.
func (f *Finder) Matching(ctx context.Context, q db.Querier, who auth.Actor, typ string, filters []string, with map[string][]string, at []oid.OID) ([]bool, error) {
	r := definition(typ, filters, with, nil)
	match := make([]bool, len(at))
	err := f.atMoments(ctx, q, who, r, at, func(ctx context.Context, x *executor, ids, moments []int64, places map[version][]int) error {
		s, err := x.read(ctx, x.w.Among(x.plan, ids, moments), &query.Body{}, query.CellMoment+1)
		if err != nil {
			return err
		}
		for i := range int32(s.Len()) {
			for _, k := range places[x.place(s, i)] {
				match[k] = true
			}
		}
		return nil
	})
	return match, err
}

// CheckDefinition returns an error if an event definition has invalid names or filters.
// Errors: fault.Invalid with the interface's messages.
func (f *Finder) CheckDefinition(typ string, filters []string, with map[string][]string, sel, attributes []string) error {
	b, err := query.Bind(f.m, definition(typ, filters, with, sel))
	if err != nil {
		return err
	}
	for _, name := range attributes {
		_, has := b.Type.Attr(name)
		if _, some := b.Type.Partial(name); !has && !some {
			return query.UnknownAttribute(typ, name)
		}
	}
	_, err = query.NewPlan(b, query.Options{When: query.When{Mode: query.Version}})
	return err
}

// definition returns the request for the parts of an event definition.
func definition(typ string, filters []string, with map[string][]string, sel []string) query.Request {
	r := query.Request{From: query.Text{Text: typ}, With: with}
	for _, f := range filters {
		r.Filter = append(r.Filter, query.Text{Text: f})
	}
	for _, s := range sel {
		r.Select = append(r.Select, query.Item{Text: query.Text{Text: s}})
	}
	return r
}

// blockReader reads one block of versions. places has the indexes of each version in the
// answer.
type blockReader func(ctx context.Context, x *executor, ids, moments []int64, places map[version][]int) error

// atMoments plans r for the versions in at and reads them block by block.
func (f *Finder) atMoments(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, at []oid.OID, do blockReader) error {
	if q == nil {
		return f.d.Read(ctx, func(tx *db.Tx) error { return f.atMoments(ctx, tx, who, r, at, do) })
	}
	b, err := query.Bind(f.m, r)
	if err != nil {
		return err
	}
	b.Deleted = true
	versions, err := f.stored(at)
	if err != nil {
		return err
	}
	plan, err := query.NewPlan(b, query.Options{Reader: readerOf(who), When: query.When{Mode: query.Version}})
	if err != nil {
		return err
	}
	h, err := history.Of(ctx, q)
	if err != nil {
		return err
	}
	base := f.newExecutor(ctx, q, who, prepared{plan: plan}, h)
	defer base.sets.release()
	for from := 0; from < len(versions); from += db.MaxIn {
		ids, moments, places := blockOf(versions, from, min(from+db.MaxIn, len(versions)))
		if err := do(ctx, base, ids, moments, places); err != nil {
			return err
		}
		base.sets.shrink(0)
	}
	return nil
}

// stored converts Oids to versions.
func (f *Finder) stored(at []oid.OID) ([]version, error) {
	list := make([]version, len(at))
	for i, o := range at {
		t, ok := f.m.Type(o.Type)
		if !ok {
			return nil, fault.Invalidf(fault.NoPlace, "Invalid OID token: %s", o)
		}
		list[i] = version{id: t.Stored(o.ID), moment: o.Moment}
	}
	return list, nil
}

// blockOf returns the ids and moments of a part of versions, each version once. places has the
// indexes of each version in versions.
func blockOf(versions []version, from, to int) (ids, moments []int64, places map[version][]int) {
	places = make(map[version][]int, to-from)
	for i := from; i < to; i++ {
		v := versions[i]
		if places[v] == nil {
			ids, moments = append(ids, v.id), append(moments, v.moment)
		}
		places[v] = append(places[v], i)
	}
	return ids, moments, places
}

// place returns the version of a row, which is a key of places.
func (x *executor) place(s *encode.Set, row int32) version {
	return x.version(s, row, query.CellID, query.CellMoment, true)
}
