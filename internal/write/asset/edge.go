package asset

import (
	"slices"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
)

// edge is a row of asset_link or asset_value. It is a link to another asset, or one value of
// a multi-value scalar.
type edge struct {
	code         int    // for a link: the code of the relation; for a value: the negative code of the attribute
	fromType     int    // code of the type of the asset in from
	from, to     int64  // stored ids; only links use the field to
	text         string // the value; empty for links
	since, until moment
	stored       bool // true if the edge existed before the batch
	ended        bool // true if the batch has ended the edge
}

// edgeCode returns the code of the edges that store an attribute.
func edgeCode(a *meta.Attr) int {
	if a.Place.Kind == meta.InValues {
		return -a.Place.Code
	}
	return a.Place.Code
}

// edgeSet contains the loaded and new edges from one asset.
type edgeSet struct {
	typ    int // code of the asset's type
	edges  []*edge
	loaded []int // codes of the edges that have been read
	isNew  bool  // true if the batch creates the asset, which then has no stored edges

	byEnd map[edgeEnd]*edge // the edges that have not ended; nil if the set has few edges
}

// edgeEnd is the end of an edge: an asset, or the folded form of a value.
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

// indexedEdges is the largest number of edges that are searched without an index.
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

// remove undoes add when the command that added the edge is rolled back. The edge is usually the
// last of the set.
func (s *edgeSet) remove(e *edge) {
	at := len(s.edges) - 1
	if s.edges[at] != e {
		at = slices.Index(s.edges, e)
	}
	s.edges = slices.Delete(s.edges, at, at+1)
	s.ended(e)
}

// ended removes an edge from the index, because the edge has ended.
func (s *edgeSet) ended(e *edge) {
	if s.byEnd != nil && s.byEnd[e.end()] == e {
		delete(s.byEnd, e.end())
	}
}

// goesOn adds an edge to the index again, because the edge has not ended after all.
func (s *edgeSet) goesOn(e *edge) {
	if s.byEnd != nil {
		s.byEnd[e.end()] = e
	}
}

// find returns the current link to an asset, or nil.
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

// one returns the current link of a to-one relation, or nil.
func (s *edgeSet) one(relation int) *edge {
	for _, e := range s.edges {
		if e.code == relation && !e.ended {
			return e
		}
	}
	return nil
}

// value returns the current edge with a value, or nil. Values with the same folded form are
// equal.
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

// ancestry is a row of scope_closure. since may be a placeholder; see moment.
type ancestry struct {
	ancestor, descendant int64 // stored ids of projects
	depth                int   // levels between the two projects; 0: they are the same project
	since                moment
}
