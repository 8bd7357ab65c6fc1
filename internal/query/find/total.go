package find

import (
	"context"

	"github.com/alds-dev/alds/internal/query"
)

// counts reports whether the statement that reads the page also counts all rows.
func (p prepared) counts() bool {
	w := p.wayOf()
	return p.wantsTotal && (w == wholeRows || w == idsFirst) && len(p.plan.Groups) == 0
}

// total counts the rows of the plan on all pages.
func (x *executor) total(ctx context.Context) (int64, error) {
	switch {
	case x.plan.Page == nil:
		err := x.readIDs(ctx)
		return int64(len(x.ids)), err
	case x.counts:
		if err := x.readPage(ctx); err != nil {
			return 0, err
		}
	}
	if x.number != nil {
		return *x.number, nil
	}
	s, err := x.read(ctx, x.w.Total(x.plan), &query.Body{}, 1)
	if err != nil || s.Len() == 0 {
		return 0, err
	}
	n, _ := s.Cell(0, 0).Int64()
	return n, nil
}
