package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/folding"
	"github.com/alds-dev/alds/internal/meta"
)

// link is a row of asset_link: current, or ended by this run.
type link struct {
	relation, fromType int
	from, to           int64
	since, until       int64 // negative until the run is written
	stored             bool  // it was there before the run
	ended              bool
}

// value is a row of asset_value, likewise.
type value struct {
	attribute, fromType int
	from                int64
	text                string
	since, until        int64
	stored, ended       bool
}

// edgeSet is what hangs on one asset: the current links from it and its values,
// of those relations that the run has looked at.
type edgeSet struct {
	typ    int
	links  []*link
	values []*value
	loaded []int // relation codes, and attribute codes below zero
	isNew  bool  // made in this run: there is nothing to load
}

func (h *edgeSet) has(code int) bool {
	if h.isNew {
		return true
	}
	for _, c := range h.loaded {
		if c == code {
			return true
		}
	}
	return false
}

// find returns the current link to an asset.
func (h *edgeSet) find(relation int, to int64) *link {
	for _, l := range h.links {
		if l.relation == relation && l.to == to && !l.ended {
			return l
		}
	}
	return nil
}

// one returns the current link of a to-one relation.
func (h *edgeSet) one(relation int) *link {
	for _, l := range h.links {
		if l.relation == relation && !l.ended {
			return l
		}
	}
	return nil
}

func (h *edgeSet) value(attribute int, text string) *value {
	for _, v := range h.values {
		if v.attribute == attribute && !v.ended && folding.Equal(v.text, text) {
			return v
		}
	}
	return nil
}

// linksOf returns the holder of an asset with the links of a relation loaded.
func (r *run) linksOf(ctx context.Context, t *meta.Type, id int64, relation int) (*edgeSet, error) {
	h := r.edgesFrom(t, id)
	if h.has(relation) {
		return h, nil
	}
	return h, r.loadLinks(ctx, relation, t.Code, []int64{id})
}

func (r *run) valuesOf(ctx context.Context, t *meta.Type, id int64, attribute int) (*edgeSet, error) {
	h := r.edgesFrom(t, id)
	if h.has(-attribute) {
		return h, nil
	}
	return h, r.loadValues(ctx, attribute, t.Code, []int64{id})
}

func (r *run) edgesFrom(t *meta.Type, id int64) *edgeSet {
	h := r.edgeSets[id]
	if h == nil {
		h = &edgeSet{typ: t.Code}
		r.edgeSets[id] = h
	}
	return h
}

// loadLinks reads the current links of one relation from assets of one type.
func (r *run) loadLinks(ctx context.Context, relation, fromType int, ids []int64) error {
	ids = r.unloaded(relation, fromType, ids)
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		args = append([]any{relation, fromType, forever}, args...)
		rows, err := r.s.tx.Query(ctx, `SELECT from_id, to_id, since_moment FROM asset_link`+
			` WHERE relation = ? AND from_type = ? AND until_moment = ? AND from_id IN `+in, args...)
		if err != nil {
			return fmt.Errorf("load links: %w", err)
		}
		err = each(rows, func() error {
			l := &link{relation: relation, fromType: fromType, until: forever, stored: true}
			if err := rows.Scan(&l.from, &l.to, &l.since); err != nil {
				return err
			}
			h := r.edgeSets[l.from]
			h.links = append(h.links, l)
			return nil
		})
		if err != nil {
			return fmt.Errorf("load links: %w", err)
		}
	}
	return nil
}

func (r *run) loadValues(ctx context.Context, attribute, fromType int, ids []int64) error {
	ids = r.unloaded(-attribute, fromType, ids)
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		args = append([]any{attribute, fromType, forever}, args...)
		rows, err := r.s.tx.Query(ctx, `SELECT from_id, value, since_moment FROM asset_value`+
			` WHERE attribute = ? AND from_type = ? AND until_moment = ? AND from_id IN `+in, args...)
		if err != nil {
			return fmt.Errorf("load values: %w", err)
		}
		err = each(rows, func() error {
			v := &value{attribute: attribute, fromType: fromType, until: forever, stored: true}
			if err := rows.Scan(&v.from, &v.text, &v.since); err != nil {
				return err
			}
			h := r.edgeSets[v.from]
			h.values = append(h.values, v)
			return nil
		})
		if err != nil {
			return fmt.Errorf("load values: %w", err)
		}
	}
	return nil
}

// unloaded returns the ids whose relation is not loaded yet and marks it as
// loaded: the caller is about to.
func (r *run) unloaded(code, fromType int, ids []int64) []int64 {
	var left []int64
	for _, id := range ids {
		h := r.edgeSets[id]
		if h == nil {
			h = &edgeSet{typ: fromType}
			r.edgeSets[id] = h
		}
		if !h.has(code) {
			h.loaded = append(h.loaded, code)
			left = append(left, id)
		}
	}
	return left
}

// addLink begins a link; owner is the asset whose version tells of it.
func (r *run) addLink(h *edgeSet, relation int, from, to int64, owner *row) {
	if r.cancelEnd(relation, from, to, owner) {
		return
	}
	l := &link{relation: relation, fromType: h.typ, from: from, to: to, until: forever}
	h.links = append(h.links, l)
	r.linkSteps = append(r.linkSteps, linkStep{l: l, h: h, owner: owner})
	owner.linked = true
}

// cancelEnd lets a link stand that the current command has just ended. A
// member's link to a project is ended for good: the role went with it.
func (r *run) cancelEnd(relation int, from, to int64, owner *row) bool {
	if a, ok := r.membership(); r.ends == 0 || ok && a.Place.Code == relation {
		return false
	}
	for i, s := range r.linkSteps {
		if s.h != nil || s.l.relation != relation || s.l.from != from || s.l.to != to || s.owner != owner {
			continue
		}
		s.l.ended = false
		r.linkSteps = slices.Delete(r.linkSteps, i, i+1)
		owner.linked = r.stepsOf(owner)
		return true
	}
	return false
}

// stepsOf reports whether the current command began or ended anything of an asset.
func (r *run) stepsOf(owner *row) bool {
	return slices.ContainsFunc(r.linkSteps, func(s linkStep) bool { return s.owner == owner }) ||
		slices.ContainsFunc(r.valueSteps, func(s valueStep) bool { return s.owner == owner })
}

func (r *run) endLink(l *link, owner *row) {
	l.ended = true
	r.ends++
	r.linkSteps = append(r.linkSteps, linkStep{l: l, owner: owner})
	owner.linked = true
}

func (r *run) addValue(h *edgeSet, attribute int, text string, owner *row) {
	for i, s := range r.valueSteps {
		if r.ends == 0 {
			break
		}
		if s.h == nil && s.owner == owner && s.v.attribute == attribute && s.v.text == text {
			s.v.ended = false
			r.valueSteps = slices.Delete(r.valueSteps, i, i+1)
			owner.linked = r.stepsOf(owner)
			return
		}
	}
	v := &value{attribute: attribute, fromType: h.typ, from: owner.id, text: text, until: forever}
	h.values = append(h.values, v)
	r.valueSteps = append(r.valueSteps, valueStep{v: v, h: h, owner: owner})
	owner.linked = true
}

func (r *run) endValue(v *value, owner *row) {
	v.ended = true
	r.ends++
	r.valueSteps = append(r.valueSteps, valueStep{v: v, owner: owner})
	owner.linked = true
}

// linkStep is one thing the current command did to links: begun when h is set,
// ended otherwise.
type linkStep struct {
	l     *link
	h     *edgeSet
	owner *row
}

type valueStep struct {
	v     *value
	h     *edgeSet
	owner *row
}

// commitEdges dates what the command did by the versions it made.
func (r *run) commitEdges() {
	for _, s := range r.linkSteps {
		if s.h != nil {
			s.l.since = s.owner.cur.moment
			r.newLinks = append(r.newLinks, s.l)
			continue
		}
		s.l.until = s.owner.cur.moment
		if s.l.stored {
			r.endedLinks = append(r.endedLinks, s.l)
		}
	}
	for _, s := range r.valueSteps {
		if s.h != nil {
			s.v.since = s.owner.cur.moment
			r.newValues = append(r.newValues, s.v)
			continue
		}
		s.v.until = s.owner.cur.moment
		if s.v.stored {
			r.endedValues = append(r.endedValues, s.v)
		}
	}
	r.linkSteps, r.valueSteps, r.ends = r.linkSteps[:0], r.valueSteps[:0], 0
}

// rollbackEdges undoes what a failed command did.
func (r *run) rollbackEdges() {
	for i := len(r.linkSteps) - 1; i >= 0; i-- {
		if s := r.linkSteps[i]; s.h != nil {
			s.h.links = s.h.links[:len(s.h.links)-1]
		} else {
			s.l.ended = false
		}
	}
	for i := len(r.valueSteps) - 1; i >= 0; i-- {
		if s := r.valueSteps[i]; s.h != nil {
			s.h.values = s.h.values[:len(s.h.values)-1]
		} else {
			s.v.ended = false
		}
	}
	r.linkSteps, r.valueSteps, r.ends = r.linkSteps[:0], r.valueSteps[:0], 0
}
