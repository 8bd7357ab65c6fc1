package change

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Current reads the current versions of assets. The keys of the result are stored ids of assets.
func (l *Loader) Current(ctx context.Context, q db.Querier, ids []int64) (map[int64]*Version, error) {
	in, args := db.InArgs(ids)
	args = append(args, db.Forever)
	all, err := l.read(ctx, q, "SELECT "+l.Columns+" FROM asset_version v WHERE v.id IN "+in+" AND v.until_moment = ?", args)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]*Version, len(all))
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	return byID, nil
}

// Linked reads the current targets of relations that are stored in asset_link. The result maps each
// attribute to a map from the stored id of the asset to the stored id of its target.
func (l *Loader) Linked(ctx context.Context, q db.Querier, t *meta.Type, ids []int64, attrs ...*meta.Attr) (map[*meta.Attr]map[int64]int64, error) {
	byCode := map[int]*meta.Attr{}
	found := map[*meta.Attr]map[int64]int64{}
	for _, a := range attrs {
		byCode[a.Place.Code] = a
		found[a] = map[int64]int64{}
	}
	in, args := db.InArgs(ids)
	args = append(args, db.Forever)
	err := db.Each(ctx, q, "SELECT relation, from_id, to_id FROM asset_link WHERE relation IN ("+codes(byCode)+
		") AND from_type = "+strconv.Itoa(t.Code)+" AND from_id IN "+in+" AND until_moment = ?", args, func(row db.Scanner) error {
		var code int
		var from, to int64
		if err := row.Scan(&code, &from, &to); err != nil {
			return err
		}
		found[byCode[code]][from] = to
		return nil
	})
	return found, err
}

// Value returns the value of an attribute that is stored in a column or in the JSON object of a
// version. It returns nil if there is no value.
func Value(v *Version, a *meta.Attr) (any, error) {
	if a.Place.Kind == meta.InColumn && a.Place.Slot >= 0 {
		return v.Columns[a.Place.Slot], nil
	}
	all, err := object(v)
	return all[a.Place.Column], err
}
