package stored

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
)

// textKey has the columns of the key of asset_text.
var textKey = []string{"asset_id", "hash"}

// InsertTexts inserts rows into asset_text, except rows that exist. A row is the id of the asset, the
// hash and the text.
func InsertTexts(ctx context.Context, to db.Execer, rows [][]any) error {
	columns := append(slices.Clip(textKey), "text")
	return db.UpsertN(ctx, to, "asset_text", columns, textKey, nil, len(rows), func(i int) []any { return rows[i] })
}

// CopyTexts inserts the text in a column of some assets into asset_text, except rows that exist. The
// hash of the text is in the row of the asset. in has the placeholders for the ids of the assets, and
// args has the ids.
func CopyTexts(ctx context.Context, to db.Execer, d *db.Dialect, column, in string, args []any) error {
	query := `INSERT INTO asset_text (asset_id, hash, text)` +
		` SELECT id, ` + db.HashColumn(column) + `, ` + column + ` FROM asset WHERE id IN ` + in
	_, err := to.Exec(ctx, query+d.Upsert(textKey, nil), args...)
	return err
}

// RewriteTexts changes the documents of some assets that asset_text stores for one column. The
// versions then refer to the new document, or contain it if it is short enough. The caller has
// locked the assets, and changes documents that are in rows itself.
func RewriteTexts(ctx context.Context, tx *db.Tx, column string, ids []int64, change func(Attrs) Attrs) error {
	hash := db.HashColumn(column)
	in, args := db.InArgs(ids)
	type stored struct {
		asset int64
		hash  []byte
	}
	query := `SELECT x.asset_id, x.hash FROM asset_text x WHERE x.asset_id IN ` + in +
		` AND EXISTS (SELECT 1 FROM asset_version v WHERE v.id = x.asset_id AND v.` + hash + ` = x.hash)`
	all, err := db.Collect(ctx, tx, query, args, func(row db.Scanner) (s stored, err error) {
		return s, row.Scan(&s.asset, &s.hash)
	})
	if err != nil {
		return err
	}

	for _, s := range all { // one document at a time, because each may have 15 MiB
		var document string
		query := `SELECT text FROM asset_text WHERE asset_id = ? AND hash = ?`
		if err := tx.QueryRow(ctx, query, s.asset, s.hash).Scan(&document); err != nil {
			return err
		}
		old, err := Parse(document)
		if err != nil {
			return err
		}
		as := change(old)
		if len(as) == len(old) {
			continue
		}

		text, _ := as.Text().(string)
		if text == "" {
			text = "{}" // JSON_REMOVE in the database also leaves an empty object
		}
		inline, apart := any(text), any(nil)
		if len(text) > db.MaxInline {
			inline, apart = nil, db.TextHash(text)
			if err := InsertTexts(ctx, tx, [][]any{{s.asset, apart, text}}); err != nil {
				return err
			}
		}
		update := `UPDATE asset_version SET ` + column + ` = ?, ` + hash + ` = ? WHERE id = ? AND ` + hash + ` = ?`
		if _, err := tx.Exec(ctx, update, inline, apart, s.asset, s.hash); err != nil {
			return err
		}
		update = `UPDATE asset SET ` + hash + ` = ? WHERE id = ? AND ` + hash + ` = ?`
		if _, err := tx.Exec(ctx, update, apart, s.asset, s.hash); err != nil {
			return err
		}
	}
	return db.RemoveTexts(ctx, tx, ids)
}
