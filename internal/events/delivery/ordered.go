package delivery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// An ordered subscription gets the events of each asset in order. While its deliveries wait, they
// have an asset_id. Each delivery has one event when it is inserted.
//
// Only the first waiting delivery of each asset is sent. The deliveries that follow it are sent
// with it if they fit into the same batch. All other deliveries of the asset are "behind". A claim
// that finds such a delivery sets its due time to db.Forever, so that later claims do not read it.
// When a delivery has ended, the next delivery of its asset becomes due. Claims, and the ends of
// deliveries, lock the subscription, so they run one after the other.

// orderPause is how long a delivery waits for the fan-out of an earlier change of its asset.
const orderPause = 250 * time.Millisecond

// mostUnfanned is the maximum number of writes that are read to find the oldest write without a
// fan-out.
const mostUnfanned = 1000

// inOrder groups the due deliveries of an ordered subscription.
type inOrder struct {
	first  []dueRow            // deliveries that may be sent
	behind map[string]bool     // ids of deliveries that wait for an earlier delivery of their asset
	early  []string            // ids of deliveries whose asset has earlier changes without a fan-out; they must wait
	follow map[string][]dueRow // key: id of a delivery in the field first; value: the deliveries that are sent with it
}

// plan sorts due deliveries into the groups of inOrder. unfanned maps an asset to its first moment
// without a fan-out. lines maps an asset to its waiting deliveries in the order of their moments.
// The function plan uses lines to find the deliveries that are sent together. The parameter most is
// the maximum number of events that are sent together.
func plan(rows []dueRow, unfanned map[int64]int64, lines map[int64][]dueRow, most int) inOrder {
	o := inOrder{behind: map[string]bool{}, follow: map[string][]dueRow{}}
	for _, d := range rows {
		isEarly := func(d dueRow) bool { at, ok := unfanned[d.asset]; return ok && at < d.last }
		switch {
		case d.asset == 0:
			o.first = append(o.first, d)
			continue
		case d.behind && !d.leased:
			o.behind[d.id] = true
			continue
		case isEarly(d) && !d.leased:
			o.early = append(o.early, d.id)
			continue
		}
		o.first = append(o.first, d)
		events, bytes := d.events, d.bytes
		for _, f := range lines[d.asset] {
			if f.id == d.id {
				continue
			}
			events, bytes = events+f.events, bytes+f.bytes
			if !d.fresh || !f.fresh || f.leased || isEarly(f) || events > most || bytes > MaxBytes {
				break
			}
			o.follow[d.id] = append(o.follow[d.id], f)
		}
	}
	return o
}

// assetsOf returns the assets of the rows whose field behind is false. The result is sorted and has
// no duplicates.
func assetsOf(rows []dueRow) []int64 {
	var all []int64
	for _, d := range rows {
		if d.asset != 0 && !d.behind {
			all = append(all, d.asset)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// planOrder reads the arguments of plan and returns the result of plan. It reads at most claimRows
// waiting deliveries per statement, so lines may be incomplete.
func (s *Sender) planOrder(ctx context.Context, tx *db.Tx, r *receiver, rows []dueRow) (inOrder, error) {
	assets := assetsOf(rows)
	unfanned, err := s.unfanned(ctx, tx, assets)
	if err != nil {
		return inOrder{}, err
	}
	lines := map[int64][]dueRow{}
	if most := r.maxBatch(); most > 1 {
		for in, args := range db.InChunks(assets) {
			err := db.Each(ctx, tx, "SELECT "+dueColumns+", 0 FROM webhook_delivery d"+payloadJoin+"WHERE d.asset_id IN "+in+
				" AND d.subscription_id = ? ORDER BY d.asset_id, d.subscription_id, d.first_moment LIMIT ?", append(args, r.id, claimRows), func(row db.Scanner) error {
				d, err := scanDue(row, r.now)
				lines[d.asset] = append(lines[d.asset], d)
				return err
			})
			if err != nil {
				return inOrder{}, err
			}
		}
	}
	return plan(rows, unfanned, lines, r.maxBatch()), nil
}

// unfanned maps each asset to the moment of its first change without a fan-out. If the fan-out of
// that change creates a delivery, this delivery must be sent before the deliveries of later
// moments.
func (s *Sender) unfanned(ctx context.Context, tx *db.Tx, assets []int64) (map[int64]int64, error) {
	found := map[int64]int64{}
	if len(assets) == 0 {
		return found, nil
	}
	var oldest int64
	var n int
	err := tx.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(first_moment), 0) FROM (
		SELECT first_moment FROM audit WHERE fan_state = 0 ORDER BY fan_state, fan_lease, id LIMIT ?) w`, mostUnfanned).Scan(&n, &oldest)
	if err != nil || n == 0 {
		return found, err
	}
	if n == mostUnfanned {
		oldest = 0
	}
	for in, args := range db.InChunks(assets) {
		err := db.Each(ctx, tx, `SELECT v.id, MIN(v.moment) FROM asset_version v JOIN audit u ON u.id = v.audit_id WHERE v.id IN `+in+
			` AND v.moment >= ? AND u.fan_state = 0 AND v.moment > u.fan_moment GROUP BY v.id`, append(args, oldest), func(row db.Scanner) error {
			var id, moment int64
			err := row.Scan(&id, &moment)
			found[id] = moment
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// putBehind postpones the deliveries that may not be sent now. It sets the due time of the
// deliveries in o.behind to db.Forever, and delays the deliveries in o.early by orderPause.
func (s *Sender) putBehind(ctx context.Context, tx *db.Tx, o inOrder, now int64) error {
	behind := slices.Sorted(maps.Keys(o.behind))
	for _, later := range []struct {
		ids []string
		due int64
	}{{behind, db.Forever}, {o.early, now + orderPause.Microseconds()}} {
		for in, args := range db.InChunks(later.ids) {
			_, err := tx.Exec(ctx, "UPDATE webhook_delivery SET due = ? WHERE id IN "+in+" AND state = 0 AND lease <= ?",
				append(append([]any{later.due}, args...), now)...)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// next maps the id of each ordered delivery in ids to the id of the delivery that waits next for
// the same asset and subscription. A delivery is not in the result if no delivery waits after it.
func next(ctx context.Context, tx *db.Tx, ids []string) (map[string]string, error) {
	found := map[string]string{}
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, tx, `SELECT d.id, COALESCE((SELECT f.id FROM webhook_delivery f WHERE f.asset_id = d.asset_id AND f.subscription_id = d.subscription_id
			AND f.first_moment > d.first_moment ORDER BY f.asset_id, f.subscription_id, f.first_moment LIMIT 1), '') FROM webhook_delivery d WHERE d.id IN `+in+" AND d.asset_id IS NOT NULL", args,
			func(row db.Scanner) error {
				var id, follower string
				err := row.Scan(&id, &follower)
				if follower != "" {
					found[id] = follower
				}
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// releaseNext must be called when deliveries have ended. It makes the next deliveries of the same
// assets due. following is the result of the function next. givenUp reports whether an earlier
// delivery has ended without success. In that case the next delivery of the asset stores the id of
// the earlier delivery.
func releaseNext(ctx context.Context, tx *db.Tx, following map[string]string, givenUp func(id string) bool, now int64) error {
	var all []string
	for id, follower := range following {
		all = append(all, follower)
		if !givenUp(id) {
			continue
		}
		if _, err := tx.Exec(ctx, "UPDATE webhook_delivery SET given_up = ? WHERE id = ? AND state = 0", id, follower); err != nil {
			return err
		}
	}
	slices.Sort(all)
	for in, args := range db.InChunks(all) {
		_, err := tx.Exec(ctx, "UPDATE webhook_delivery SET due = ? WHERE id IN "+in+" AND state = 0 AND due = ?",
			append(append([]any{now}, args...), db.Forever)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// EndOrder ends the order of the waiting deliveries of a subscription. Deliveries that wait for an
// earlier delivery of their asset become due now.
func (s *Store) EndOrder(ctx context.Context, tx *db.Tx, subscription string) error {
	_, err := tx.Exec(ctx, `UPDATE webhook_delivery SET due = CASE WHEN due = ? THEN `+s.db.Dialect.NowMicros+` ELSE due END, asset_id = NULL
		WHERE subscription_id = ? AND state = 0 AND asset_id IS NOT NULL`, db.Forever, subscription)
	return err
}

// byAsset groups claimed deliveries by asset. Each group is in the order of moments. A delivery
// without an asset is a group of its own.
func byAsset(all []*Delivery) [][]*Delivery {
	var found [][]*Delivery
	at := map[int64]int{}
	for _, d := range all {
		i, known := at[d.Asset]
		if d.Asset == 0 || !known {
			at[d.Asset] = len(found)
			found = append(found, []*Delivery{d})
			continue
		}
		found[i] = append(found[i], d)
	}
	for _, line := range found {
		slices.SortFunc(line, func(a, b *Delivery) int { return int(a.First - b.First) })
	}
	return found
}

// dueColumns are the columns of a dueRow, except for the last column (isBehind). The table
// webhook_delivery must have the alias d, and the statement must contain payloadJoin.
const dueColumns = `d.id, d.owner, d.lease, d.claims, d.events, LENGTH(d.payload) + COALESCE(LENGTH(p.body) + d.events * LENGTH(d.head), 0),
	COALESCE(d.asset_id, 0), d.first_moment, d.last_moment,
	CASE WHEN d.kind = 0 AND d.attempts = 0 AND d.claims = 0 AND d.last_status = 0 AND d.created_at = d.committed_at THEN 1 ELSE 0 END`

// isBehind is the last column of a dueRow. It is 1 if an earlier delivery of the same asset waits.
const isBehind = `CASE WHEN EXISTS (SELECT 1 FROM webhook_delivery e WHERE e.asset_id = d.asset_id AND e.subscription_id = d.subscription_id
	AND e.first_moment < d.first_moment) THEN 1 ELSE 0 END`

// dueRow is a waiting delivery as a claim reads it.
type dueRow struct {
	id          string
	owner       *string
	lease       int64 // end of the lease, in UTC microseconds
	claims      int   // number of claims that did not end
	events      int
	bytes       int   // size of the payload in bytes
	asset       int64 // stored id of the asset; 0: the order does not matter
	first, last int64 // first and last moment
	fresh       bool  // true: may be merged, because it was never claimed, sent or requested again, and is not a test
	behind      bool  // true: an earlier delivery of the asset waits
	leased      bool  // true: the lease has not ended
}

func scanDue(row db.Scanner, now int64) (d dueRow, err error) {
	err = row.Scan(&d.id, &d.owner, &d.lease, &d.claims, &d.events, &d.bytes, &d.asset, &d.first, &d.last, &d.fresh, &d.behind)
	d.leased = d.lease > now
	return d, err
}

// giveUpFirst sets ordered deliveries aside that have lease.MaxClaims claims that did not end. It
// makes the next delivery of each asset due.
func (s *Sender) giveUpFirst(ctx context.Context, tx *db.Tx, r *receiver, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	following, err := next(ctx, tx, ids)
	if err == nil {
		err = s.setAside(ctx, tx, r.id, ids)
	}
	if err == nil {
		err = releaseNext(ctx, tx, following, func(string) bool { return true }, r.now)
	}
	return err
}

// isGivenUp returns a function. The function reports whether the delivery with an id has ended
// without success. The parameter all has the results of the deliveries that have ended.
func isGivenUp(all []*result) func(id string) bool {
	return func(id string) bool {
		return slices.ContainsFunc(all, func(res *result) bool { return res.d.ID == id && res.outcome != Delivered })
	}
}
