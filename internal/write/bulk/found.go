package bulk

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
)

// foundSteps is a query, with the steps for the assets that the query found.
type foundSteps struct {
	request query.Request
	steps   []*step
}

// lookUp reads the assets of all steps together. If an asset does not exist, its step fails.
// If a command names a deleted asset in the key from, its step is left out.
func (p *projection) lookUp(ctx context.Context) error {
	if err := p.lockFound(ctx); err != nil {
		return err
	}
	var all []oid.OID
	for _, s := range p.steps {
		if !s.from.IsNull() {
			all = append(all, s.from)
		}
	}
	if len(all) == 0 {
		return nil
	}
	known, err := p.assets.Lookup(ctx, p.q, p.who, all)
	if err != nil {
		return err
	}
	for _, s := range p.steps {
		if s.from.IsNull() {
			continue
		}
		k, ok := known[s.from]
		from, direct := target(s.node)
		switch {
		case !ok:
			s.err = fault.Placed(oid.Invalid(s.from.String()), from.At)
		case k.Deleted && isAddressOnly(s.node) && !direct:
			s.err = p.checkNames(s, from)
			s.noMatch = s.err == nil
		default:
			s.from, s.deleted = k.OID, k.Deleted
			s.typ, _ = p.assets.Model().Type(k.OID.Type)
		}
	}
	return nil
}

// lockFound locks all assets that queries have found. If other requests may have changed the
// assets before the lock, lockFound repeats the queries. It leaves out the step of an asset that
// no longer matches.
func (p *projection) lockFound(ctx context.Context) error {
	found := p.found
	p.found = nil
	var all []oid.OID
	for _, f := range found {
		all = append(all, targets(f.steps)...)
	}
	if p.s == nil || len(all) == 0 {
		return nil
	}
	again, err := p.s.LockFound(ctx, all)
	if err != nil || !again {
		return err
	}
	for _, f := range found {
		fits := map[oid.OID]bool{}
		for _, r := range f.again(p.assets.Model()) {
			still, err := p.ids(ctx, p.q, p.who, r)
			if err != nil {
				return err
			}
			for _, o := range still {
				fits[o] = true
			}
		}
		for _, s := range f.steps {
			s.noMatch = !s.from.IsNull() && !fits[s.from]
		}
	}
	return nil
}

// targets returns the assets that updates and operations change.
func targets(steps []*step) (all []oid.OID) {
	for _, s := range steps {
		if !s.from.IsNull() {
			all = append(all, s.from)
		}
	}
	return all
}

// maxAgain is the maximum number of assets of a page that one repeated query checks.
const maxAgain = 10_000

// again returns the queries that check which assets still match. If the original query has a
// page, the new queries look only at the assets that were on the page.
func (f foundSteps) again(m *meta.Model) (all []query.Request) {
	r := f.request
	r.Sort = nil
	if r.Page == nil {
		return []query.Request{r}
	}
	r.Page = nil
	for part := range slices.Chunk(targets(f.steps), maxAgain) {
		r.Among = make([]int64, 0, len(part))
		for _, o := range part {
			if t, ok := m.Type(o.Type); ok {
				r.Among = append(r.Among, t.Stored(o.ID))
			}
		}
		all = append(all, r)
	}
	return all
}
