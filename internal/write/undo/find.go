package undo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// maxVersionsByAsset limits the versions that one request takes back, for each asset that it may
// change.
const maxVersionsByAsset = 4

// maxWrites is the largest number of writes that an undo is about.
const maxWrites = 100_000

// changeSize is about how many bytes of memory a change needs until it is taken back.
const changeSize = 200

// change is what the selected writes have done with one asset: the moments of their versions,
// ascending.
type change struct {
	id      int64
	typ     *meta.Type
	moments []int64
	writes  []int64 // ids of the audit rows of the versions
	made    bool    // the first version of the asset is one of them
	deleted bool    // the asset is deleted after the last of them
	linked  bool    // links or values began or ended with one of them
}

func (c *change) oid() oid.OID { return oid.OID{Type: c.typ.Name, ID: c.typ.Shown(c.id)} }
func (c *change) last() int64  { return slices.Max(c.moments) }

// finder finds the versions of a selection.
type finder struct {
	model  *meta.Model
	q      db.Querier
	most   int // limit for the assets; 0: none
	hold   *memory.Hold
	found  map[int64]*change
	rows   int
	writes map[int64]bool // ids of audit rows
}

// find returns what the selected writes have changed, in the order in which it must be taken back. It
// reads before the write transaction begins, because versions never change and the search may take
// long.
// Errors: fault.NotFound for a write or an asset that does not exist, or that the caller may not see;
// fault.Invalid for changes before the horizon, or too many.
//
// most is the largest number of assets; 0: no limit.
func (e *Engine) find(ctx context.Context, who auth.Actor, s selection, most int) (all []*change, err error) {
	err = e.assets.DB().Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
		all, err = e.findIn(ctx, tx, who, s, most)
		return err
	})
	return all, err
}

func (e *Engine) findIn(ctx context.Context, q db.Querier, who auth.Actor, s selection, most int) ([]*change, error) {
	horizon, err := history.Of(ctx, q)
	if err != nil {
		return nil, err
	}
	f := &finder{model: e.assets.Model(), q: q, most: most, hold: memory.From(ctx), found: map[int64]*change{}, writes: map[int64]bool{}}
	switch {
	case len(s.requests) > 0:
		err = f.requests(ctx, horizon, s.requests)
	case s.moment > 0:
		err = e.version(ctx, f, who, horizon, s)
	default:
		err = e.inTime(ctx, f, who, s)
	}
	if err != nil {
		return nil, err
	}
	return f.ordered(), nil
}

// ordered returns the changes in the order in which they are taken back. Deleted assets come back
// first, projects before all others, and each after the asset of which it is a part. Assets that were created are deleted last, the newest
// first, so that each goes before the asset of which it is a part. All other changes are taken back from the last to the
// first.
func (f *finder) ordered() []*change {
	all := make([]*change, 0, len(f.found))
	for _, c := range f.found {
		slices.Sort(c.moments)
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *change) int { return a.place().compare(b.place()) })
	return all
}

// place is the place of a change in the order in which changes are taken back.
type place struct {
	Phase int   // 0: the asset is a project that was deleted; 1: it was deleted; 3: it was created; 2: anything else
	Last  int64 // moment of the last version; of a new asset, the moment of its creation
	ID    int64 // stored id of the asset
}

func (c *change) place() place {
	switch {
	case c.made:
		return place{3, slices.Min(c.moments), c.id}
	case c.deleted && c.typ.Secured.Self:
		return place{0, c.last(), c.id}
	case c.deleted:
		return place{1, c.last(), c.id}
	}
	return place{2, c.last(), c.id}
}

func (p place) compare(o place) int {
	last := cmp.Compare(o.Last, p.Last)
	if p.Phase <= 1 {
		last = -last
	}
	return cmp.Or(cmp.Compare(p.Phase, o.Phase), last, cmp.Compare(p.ID, o.ID))
}

// write is an audit row.
type write struct {
	id          int64
	request     string
	first, last int64
}

// requests finds the versions of writes by their request ids.
func (f *finder) requests(ctx context.Context, horizon history.Horizon, ids []string) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	in, args := db.InArgs(ids)
	all, err := db.Collect(ctx, f.q, `SELECT id, request_id, first_moment, last_moment FROM audit WHERE id > 0 AND request_id IN `+in+` ORDER BY first_moment`, args,
		func(scan db.Scanner) (w write, err error) { return w, scan.Scan(&w.id, &w.request, &w.first, &w.last) })
	if err != nil {
		return fmt.Errorf("find writes: %w", err)
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(w write) bool { return w.request == id }) {
			return fault.NotFoundf("There is no write with the request id %s", id)
		}
	}
	for _, w := range all {
		if w.last == 0 { // the write has changed nothing
			continue
		}
		if err := horizon.CheckMoment(w.first - 1); err != nil {
			return err
		}
		err := f.versions(ctx, `v.audit_id = ? AND v.moment BETWEEN ? AND ?`, w.id, w.first, w.last)
		if err != nil {
			return err
		}
	}
	return nil
}

// version finds one version of an asset.
func (e *Engine) version(ctx context.Context, f *finder, who auth.Actor, horizon history.Horizon, s selection) error {
	none := fault.NotFoundf("%s has no change with the moment %d", s.asset, s.moment)
	known, err := e.assets.Lookup(ctx, f.q, who, []oid.OID{s.asset})
	if err != nil {
		return err
	}
	k, ok := known[s.asset]
	if !ok {
		return none
	}
	if err := horizon.CheckMoment(s.moment - 1); err != nil {
		return err
	}
	t, ok := f.model.Type(k.OID.Type)
	if !ok {
		return none
	}
	if err := f.versions(ctx, `v.id = ? AND v.moment = ?`, t.Stored(k.OID.ID), s.moment); err != nil {
		return err
	}
	if len(f.found) == 0 {
		return none
	}
	return nil
}

// inTime finds the versions that a member or an access token has written in a time.
func (e *Engine) inTime(ctx context.Context, f *finder, who auth.Actor, s selection) error {
	where, by := "u.token_id = ?", any(s.token)
	if s.token == "" {
		known, err := e.assets.Lookup(ctx, f.q, who, []oid.OID{s.by})
		if err != nil {
			return err
		}
		k, ok := known[s.by]
		t, isType := f.model.Type(k.OID.Type)
		if !ok || !isType {
			return fault.NotFoundf("There is no member %s", s.by)
		}
		where, by = "u.actor_id = ?", t.Stored(k.OID.ID)
	}
	after, _, err := history.MomentOf(ctx, f.q, s.since-1)
	if err != nil {
		return err
	}
	to := db.Forever
	if s.hasUntil {
		if to, _, err = history.MomentOf(ctx, f.q, s.until); err != nil {
			return err
		}
	}
	if s.upTo != 0 {
		to = min(to, s.upTo)
	}
	return f.versions(ctx, `v.moment > ? AND v.moment <= ? AND u.id > 0 AND `+where, after, to, by)
}

// versions adds the versions that meet a condition. v is a row of asset_version, and u is its audit
// row. Errors: fault.Invalid for too many assets or versions.
func (f *finder) versions(ctx context.Context, where string, args ...any) error {
	query := `SELECT v.id, v.type, v.moment, v.created_moment, v.state, v.linked, v.audit_id` +
		` FROM asset_version v JOIN audit u ON u.id = v.audit_id WHERE ` + where + ` ORDER BY v.moment, v.id`
	if f.most > 0 {
		query += ` LIMIT ` + strconv.Itoa(maxVersionsByAsset*f.most+1)
	}
	err := db.Each(ctx, f.q, query, args, func(scan db.Scanner) error {
		var id, moment, created, write int64
		var typ, state, linked int
		if err := scan.Scan(&id, &typ, &moment, &created, &state, &linked, &write); err != nil {
			return err
		}
		c, err := f.add(id, typ, moment, write)
		if err == nil {
			c.made, c.linked = c.made || created == moment, c.linked || linked != 0
			if moment == c.last() {
				c.deleted = state == meta.StateDeleted
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("find versions: %w", err)
	}
	return nil
}

// add adds a version to the changes of its asset.
func (f *finder) add(id int64, typ int, moment, write int64) (*change, error) {
	c := f.found[id]
	if c == nil {
		t, ok := f.model.TypeByCode(typ)
		if !ok {
			return nil, fmt.Errorf("asset %d has the unknown type %d", id, typ)
		}
		if err := f.hold.Take(changeSize); err != nil {
			return nil, err
		}
		c = &change{id: id, typ: t}
		f.found[id] = c
	}
	f.rows++
	switch {
	case f.most > 0 && len(f.found) > f.most:
		return nil, asset.TooManyAssets(f.most)
	case f.most > 0 && f.rows > maxVersionsByAsset*f.most:
		return nil, fault.Invalidf(fault.NoPlace, "The undo would take back more than %d versions.", maxVersionsByAsset*f.most)
	}
	c.moments = append(c.moments, moment)
	if n := len(c.writes); n == 0 || c.writes[n-1] != write {
		c.writes = append(c.writes, write)
	}
	if f.writes[write] = true; len(f.writes) > maxWrites {
		return nil, fault.Invalidf(fault.NoPlace, "The undo is about more than %d writes.", maxWrites)
	}
	return c, nil
}
