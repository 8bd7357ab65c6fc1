package purge

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Count returns the number of assets, including deleted ones, that have a value of an attribute.
func Count(ctx context.Context, tx *db.Tx, m *meta.Model, a *meta.Attr) (n int64, err error) {
	if a.Place.Kind == meta.InLinks {
		query := `SELECT COUNT(DISTINCT from_id) FROM asset_link WHERE relation = ? AND until_moment = ?`
		err = tx.QueryRow(ctx, query, a.Place.Code, db.Forever).Scan(&n)
		return n, err
	}
	in, codes := db.InArgs(typeCodes(m, a.On))
	query := `SELECT COUNT(*) FROM asset WHERE type IN ` + in + ` AND ` + storedExpr(tx.Dialect(), a) + ` IS NOT NULL`
	err = tx.QueryRow(ctx, query, codes...).Scan(&n)
	return n, err
}

// storedExpr returns the SQL expression for the stored value of a scalar attribute. The
// expression is NULL if the asset has no value.
func storedExpr(d *db.Dialect, a *meta.Attr) string {
	if a.Place.Kind == meta.InColumn {
		return a.Place.Column
	}
	return d.JSONText("attrs", a.Place.Column)
}

// typeCodes returns the codes of t and of its subtypes, without abstract types. It includes lists
// whose definition was deleted.
func typeCodes(m *meta.Model, t *meta.Type) []int64 {
	var codes []int64
	for _, other := range m.Types {
		if other.IsA(t) && !other.Abstract {
			codes = append(codes, int64(other.Code))
		}
	}
	return codes
}
