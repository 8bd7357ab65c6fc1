package asset

import (
	"slices"

	"github.com/alds-dev/alds/internal/folding"
	"github.com/alds-dev/alds/internal/meta"
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
}

func (s *edgeSet) has(code int) bool { return s.isNew || slices.Contains(s.loaded, code) }

// find returns the current link to an asset.
func (s *edgeSet) find(relation int, to int64) *edge {
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
