package asset

import (
	"slices"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
)

// edge is a row of asset_link or asset_value: a link to another asset, or one
// value of an attribute that has several.
type edge struct {
	code         int // of the relation; of an attribute with values, negated
	fromType     int
	from, to     int64
	text         string // the value
	since, until int64  // moments, negative until the batch is written
	stored       bool   // it was there before the batch
	ended        bool
}

// edgeCode returns the code of the edges that an attribute lies in.
func edgeCode(a *meta.Attr) int {
	if a.Place.Kind == meta.InValues {
		return -a.Place.Code
	}
	return a.Place.Code
}

// edgeSet is what is known of the current edges from one asset.
type edgeSet struct {
	typ    int
	edges  []*edge
	loaded []int // codes of the edges that have been read
	isNew  bool  // the asset is made in this batch: there is nothing to read

	byEnd map[edgeEnd]*edge // those that have not ended, by what they lead to; nil while they are few
}

// edgeEnd is what an edge leads to: an asset, or a folded value.
type edgeEnd struct {
	code  int
	to    int64
	value string
}

func (e *edge) end() edgeEnd {
	if e.code < 0 {
		return edgeEnd{code: e.code, value: folding.Of(e.text)}
	}
	return edgeEnd{code: e.code, to: e.to}
}

// indexedEdges is from how many edges on they are found by an index.
const indexedEdges = 32

func (s *edgeSet) has(code int) bool { return s.isNew || slices.Contains(s.loaded, code) }

// add adds an edge that has not ended.
func (s *edgeSet) add(e *edge) {
	s.edges = append(s.edges, e)
	switch {
	case s.byEnd != nil:
		s.byEnd[e.end()] = e
	case len(s.edges) > indexedEdges:
		s.byEnd = make(map[edgeEnd]*edge, 2*len(s.edges))
		for _, e := range s.edges {
			if !e.ended {
				s.byEnd[e.end()] = e
			}
		}
	}
}

// remove takes back the edge that was added last.
func (s *edgeSet) remove(e *edge) {
	at := len(s.edges) - 1
	if s.edges[at] != e {
		at = slices.Index(s.edges, e)
	}
	s.edges = slices.Delete(s.edges, at, at+1)
	s.ended(e)
}

// ended notes that an edge has ended.
func (s *edgeSet) ended(e *edge) {
	if s.byEnd != nil && s.byEnd[e.end()] == e {
		delete(s.byEnd, e.end())
	}
}

// goesOn notes that an edge has not ended after all.
func (s *edgeSet) goesOn(e *edge) {
	if s.byEnd != nil {
		s.byEnd[e.end()] = e
	}
}

// find returns the current link to an asset.
func (s *edgeSet) find(relation int, to int64) *edge {
	if s.byEnd != nil {
		return s.byEnd[edgeEnd{code: relation, to: to}]
	}
	for _, e := range s.edges {
		if e.code == relation && e.to == to && !e.ended {
			return e
		}
	}
	return nil
}

// one returns the current link of a to-one relation.
func (s *edgeSet) one(relation int) *edge {
	for _, e := range s.edges {
		if e.code == relation && !e.ended {
			return e
		}
	}
	return nil
}

// value returns the current edge with a value, whatever its case.
func (s *edgeSet) value(code int, text string) *edge {
	if s.byEnd != nil {
		return s.byEnd[edgeEnd{code: code, value: folding.Of(text)}]
	}
	for _, e := range s.edges {
		if e.code == code && !e.ended && folding.Equal(e.text, text) {
			return e
		}
	}
	return nil
}

// current returns the edges with a code that have not ended.
func (s *edgeSet) current(code int) []*edge {
	var all []*edge
	for _, e := range s.edges {
		if e.code == code && !e.ended {
			all = append(all, e)
		}
	}
	return all
}

// ancestry is a row of scope_closure.
type ancestry struct {
	ancestor, descendant int64
	depth                int
	since                int64 // negative until the batch is written
}
