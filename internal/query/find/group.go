package find

import (
	"cmp"
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
)

// group is one asset with the rows or groups below it.
type group struct {
	of      version
	head    []byte // the asset's own row, without its closing brace
	kids    map[version]*group
	missing *group  // the group of the rows that refer to no asset
	rows    []int32 // indexes of the texts of the rows, at the last level
}

// maxGroups is the maximum number of groups of all levels of one answer.
const maxGroups = 300_000

// rowRef is how many bytes a row takes in each of its groups. rowText is how many bytes the text of a row takes besides
// its length.
const (
	rowRef  = 8
	rowText = 32
)

// grouped appends the JSON array of the groups, sorted by id. The group without an asset comes
// first. The rows below a group are in the order of the query. A row that refers to several assets
// is below each of them. All groups are collected before the first group is written.
// Shape: [{"_oid":"NULL","Name":null,"_children":[{"_oid":"Story:1001"}]}].
func (x *executor) grouped(ctx context.Context, e encode.Rows, w []byte) ([]byte, error) {
	top := &group{}
	var texts [][]byte // a row may be in many groups, and has one text
	x.groups, x.groupBytes, x.groupHeld = 0, int64(len(w)), 0
	e.Sink = x.counted(ctx, &x.groupBytes)
	err := x.each(ctx, func(s *encode.Set, row int32) error {
		below := []*group{top}
		for _, branch := range x.plan.Groups {
			var next []*group
			for _, g := range below {
				var err error
				if next, err = x.kidsOf(ctx, e, g, s, row, branch, next); err != nil {
					return err
				}
			}
			below = next
		}
		e.Sink.Next = Piece // each row begins with an empty buffer
		text := e.Row(nil, s, row)
		x.groupHeld += int64(len(text) + rowText + rowRef*len(below))
		if err := x.growGroups(ctx, e.Sink, (len(text)+1)*len(below)); err != nil {
			return err
		}
		for _, g := range below {
			g.rows = append(g.rows, int32(len(texts))) //nolint:gosec // the memory of a request ends before
		}
		texts = append(texts, text)
		return nil
	})
	if err != nil {
		return w, err
	}
	w = top.list(slices.Grow(w, int(x.groupBytes)), texts)
	return w, x.check(ctx, int64(len(w)))
}

// growGroups counts n more bytes of groups.
// Errors: those of the sink, of check and of memory.Hold.Take.
func (x *executor) growGroups(ctx context.Context, sink *encode.Sink, n int) error {
	if err := sink.Err(); err != nil {
		return err
	}
	x.groupBytes += int64(n)
	if err := x.check(ctx, x.groupBytes); err != nil {
		return err
	}
	return x.answer.grow(x.groupBytes + x.groupHeld)
}

// mapSize is how many bytes the map of a group takes that has one group below it. groupSize is what each further
// one takes.
const mapSize = 256

// kidsOf appends to kids the groups below g to which a row belongs through one branch. One row can make many
// groups, because their number multiplies from level to level. So each new group is counted at once.
// Errors: those of growGroups; fault.Invalid if there are too many groups.
func (x *executor) kidsOf(ctx context.Context, e encode.Rows, g *group, s *encode.Set, row int32, branch int, kids []*group) ([]*group, error) {
	l := s.Lists[branch]
	from := len(kids)
	for _, r := range l.Rows(row) {
		e.Sink.Next = Piece
		of := x.version(l.Set, r, query.CellID, query.CellMoment, x.moments)
		if g.kids == nil {
			x.groupHeld += mapSize
		}
		k := g.kid(of)
		if k.head == nil {
			if x.groups++; x.groups > maxGroups {
				return nil, fault.Invalidf(fault.NoPlace, "too many groups in one answer: the limit is %d", maxGroups)
			}
			k.head = open(e.Row(nil, l.Set, r))
			x.groupHeld += int64(groupSize + len(k.head))
			if err := x.growGroups(ctx, e.Sink, len(k.head)+len(`,"_children":[]}`)); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(kids[from:], k) {
			kids = append(kids, k)
		}
	}
	if len(l.Rows(row)) > 0 {
		return kids, nil
	}
	if g.missing == nil {
		g.missing = &group{head: open(e.Missing(nil, &x.plan.Branches[branch].Body))}
		x.groupHeld += int64(groupSize + len(g.missing.head))
		if err := x.growGroups(ctx, e.Sink, len(g.missing.head)+len(`,"_children":[]}`)); err != nil {
			return nil, err
		}
	}
	return append(kids, g.missing), nil
}

// open returns a row without its closing brace.
func open(row []byte) []byte { return row[:len(row)-1] }

func (g *group) kid(of version) *group {
	k := g.kids[of]
	if k == nil {
		k = &group{of: of}
		if g.kids == nil {
			g.kids = map[version]*group{}
		}
		g.kids[of] = k
	}
	return k
}

// list appends the groups or rows below g as a JSON array. texts has the texts of all rows.
func (g *group) list(w []byte, texts [][]byte) []byte {
	w = append(w, '[')
	if g.kids == nil && g.missing == nil {
		for i, row := range g.rows {
			if i > 0 {
				w = append(w, ',')
			}
			w = append(w, texts[row]...)
		}
		return append(w, ']')
	}
	var kids []*group
	if g.missing != nil {
		kids = append(kids, g.missing)
	}
	first := len(kids)
	for _, k := range g.kids {
		kids = append(kids, k)
	}
	slices.SortFunc(kids[first:], func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.of.id, b.of.id), cmp.Compare(a.of.moment, b.of.moment))
	})
	for i, k := range kids {
		if i > 0 {
			w = append(w, ',')
		}
		w = append(append(w, k.head...), `,"_children":`...)
		w = append(k.list(w, texts), '}')
	}
	return append(w, ']')
}
