package find

import (
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// way is how the rows of a query are read. Only wayOf decides it.
type way int

const (
	// nothing: the page has size 0, so no rows are read.
	nothing way = iota

	// oneAsset: one statement reads the asset (page.go). Its branches are read afterwards.
	oneAsset

	// oneWithBranches: one statement reads the asset and the rows of its branches (page.go).
	oneWithBranches

	// wholeRows: one statement reads the rows of a small page with all cells (page.go).
	wholeRows

	// idsFirst: like wholeRows, but the statement finds and sorts only ids before it reads rows.
	idsFirst

	// inBlocks: one statement reads the ids of all rows. Further statements read the rows, each for
	// a block of ids (blocks.go).
	inBlocks
)

// wayOf decides how the rows are read. The lookups of the plan must have been run before.
func (p prepared) wayOf() way {
	page := p.plan.Page
	switch {
	case page != nil && page.Size == 0 && page.After == nil:
		return nothing
	case p.plan.Together:
		return oneWithBranches
	case p.one:
		return oneAsset
	case !isSmall(page):
		return inBlocks
	case p.plan.IDsFirst && p.lookupsDone():
		return idsFirst
	}
	return wholeRows
}

// deepStart is the lowest Start of a page for which ids are read before rows. The database can then
// skip entries of an index instead of whole rows.
const deepStart = 100

// isSmall reports whether one statement can read a whole page.
func isSmall(p *query.Page) bool {
	return p != nil && p.Size <= db.MaxIn && p.Start < deepStart
}

// single reports whether one statement answers r. The read then needs no snapshot.
func (p prepared) single(r query.Request) bool {
	if p.plan == nil || p.plan.Past || len(p.plan.Lookups) > 0 || r.Explain {
		return false
	}
	switch w := p.wayOf(); {
	case w == inBlocks, len(p.plan.Branches) > 0 && w != oneWithBranches:
		return false
	default:
		return !p.wantsTotal || p.counts() || w == nothing
	}
}
