package find

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/sqlgen"
)

// eachOfPage calls row for the rows of a page, or for the asset if the query is about one asset.
func (x *executor) eachOfPage(ctx context.Context, row func(*encode.Set, int32) error) error {
	if err := x.readPage(ctx); err != nil {
		return err
	}
	s := x.pageRows
	if x.plan.One && s.Len() == 0 {
		return fault.NotFoundf("Not Found")
	}
	if x.hasMore(s.Len()) {
		s.Truncate(int(x.plan.Page.Size))
	}
	return x.emit(ctx, s, inOrder(s.Len()), row)
}

// readPage reads the rows of a page with one statement. If x.counts is true, the statement also
// counts all rows. A page of size 0 is not read. If the statement returns no rows, the total is 0
// for the first page, and stays unknown for any other page.
func (x *executor) readPage(ctx context.Context) error {
	if x.pageRows != nil {
		return nil
	}
	x.pageRows = &encode.Set{Body: &x.plan.Body, Width: len(x.plan.Cells)}
	p, total := x.plan.Page, int64(0)
	switch x.way {
	case nothing:
		return nil
	case oneWithBranches:
		return x.readTogether(ctx)
	}
	var before []any
	if x.counts {
		before = append(before, &total)
	}
	if err := x.scan(ctx, x.pageRows, x.page(), func() error { return nil }, before...); err != nil {
		return err
	}
	if x.counts && (x.pageRows.Len() > 0 || p.Start == 0 && len(x.plan.Resume) == 0) {
		x.number = &total
	}
	return nil
}

// readTogether reads the one asset of the plan and the rows of its branches with one
// statement.
func (x *executor) readTogether(ctx context.Context) error {
	sets, width := []*encode.Set{x.pageRows}, x.pageRows.Width
	x.together = map[*query.Branch]*encode.Set{}
	for _, b := range x.plan.Branches {
		s := &encode.Set{Body: &b.Body, Width: len(b.Cells)}
		x.together[b] = s
		sets, width = append(sets, s), width+s.Width
	}
	row, number := &encode.Set{Body: &query.Body{}, Width: width}, int64(0)
	err := x.scan(ctx, row, x.page(), func() error {
		from := 0
		for _, s := range sets[:number] {
			from += s.Width
		}
		s := sets[number]
		size := s.Size()
		s.Cells = append(s.Cells, row.Cells[from:from+s.Width]...)
		row.Truncate(0)
		return x.sets.add(s.Size() - size)
	}, &number)
	for _, s := range sets[1:] {
		s.SortByID()
	}
	return err
}

// cachedStatement is the statement of a page, with the values that it depends on.
type cachedStatement struct {
	visibility sqlgen.Visibility
	horizon    int64
	page       query.Page
	total      bool
	statement  sqlgen.Statement
}

// page returns the statement of a page with all its cells. It is cached for requests of the
// same shape, page and visibility.
func (x *executor) page() sqlgen.Statement {
	c, page := x.cached, query.Page{}
	if x.plan.Page != nil {
		page = *x.plan.Page
	}
	if c == nil {
		return x.printPage()
	}
	if s := c.page.Load(); s != nil && s.page == page && s.total == x.counts && s.horizon == x.w.Horizon && sameVisibility(s.visibility, x.w.Visibility) {
		return s.statement
	}
	st := x.printPage()
	c.page.Store(&cachedStatement{x.w.Visibility, x.w.Horizon, page, x.counts, st})
	return st
}

func sameVisibility(a, b sqlgen.Visibility) bool {
	return a.Member == b.Member && a.All == b.All && slices.Equal(a.Scopes, b.Scopes) && slices.Equal(a.NoRead, b.NoRead) &&
		a.System == b.System && a.Held == b.Held && slices.Equal(a.Roles, b.Roles) &&
		a.AllMembers == b.AllMembers && a.At == b.At && (a.Members == nil) == (b.Members == nil) && slices.Equal(a.Members, b.Members) &&
		a.AllWithin == b.AllWithin && slices.Equal(a.Within, b.Within) && slices.Equal(a.Types, b.Types) && sameHidden(a.Hidden, b.Hidden)
}

func sameHidden(a, b *sqlgen.Hidden) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Ever == b.Ever && slices.Equal(a.Now, b.Now)
}

// printPage prints the statement of a page. explain also uses this statement for a result that is
// read in blocks.
func (x *executor) printPage() sqlgen.Statement {
	switch x.way {
	case oneWithBranches:
		return x.w.Together(x.plan)
	case idsFirst:
		return x.w.IDsFirst(x.plan, x.counts)
	}
	return x.w.Page(x.plan, x.counts)
}
