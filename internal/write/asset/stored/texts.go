package stored

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
)

// textKey has the columns of the key of asset_text.
var textKey = []string{"asset_id", "hash"}

// insertTexts inserts rows into asset_text, except rows that exist. A row is the id of the asset, the
// hash and the text.
func insertTexts(ctx context.Context, to db.Execer, rows [][]any) error {
	columns := append(slices.Clip(textKey), "text")
	return db.UpsertN(ctx, to, "asset_text", columns, textKey, nil, len(rows), func(i int) []any { return rows[i] })
}

// Asset is an asset that a batch has changed, with its values before and after the batch.
type Asset struct {
	ID       int64
	Moment   int64 // moment of the version that was current before the batch
	Was, Now *Values
}

// MoveTexts moves long texts to asset_text. It moves a text out of the version that was current
// before the batch if the asset still has the text. A text that is already in asset_text stays
// there, because no other writer removes it while the assets are locked. Descriptions are copied
// inside the database. JSON documents are sent to the database, because database servers of
// different products print the same document differently.
func (c *Columns) MoveTexts(ctx context.Context, tx *db.Tx, assets []Asset) error {
	var moved [len(db.LongTexts)][]Asset
	var documents [][]any
	for _, a := range assets {
		for which, hash := range a.Now.Hashes {
			if hash == nil || a.Was.Hashes[which] != nil {
				continue
			}
			if moved[which] = append(moved[which], a); which != inDescription {
				documents = append(documents, []any{a.ID, hash, c.longText(a.Now, which)})
			}
		}
	}
	if err := insertTexts(ctx, tx.Later(), documents); err != nil {
		return fmt.Errorf("insert texts: %w", err)
	}
	for which, some := range moved {
		if err := move(ctx, tx, which, some); err != nil {
			return fmt.Errorf("move texts: %w", err)
		}
	}
	return nil
}

// move replaces one of the long texts by its hash, in the versions of some assets that were
// current before the batch. If it is the description, move first copies it to asset_text. A
// single version is addressed by its whole key. A range would also lock the next row, which may
// belong to an asset that another transaction is writing.
func move(ctx context.Context, tx *db.Tx, which int, assets []Asset) error {
	d, later, text := tx.Dialect(), tx.Later(), db.LongTexts[which]
	hash := db.HashColumn(text)
	ids, from := make([]int64, len(assets)), db.Forever
	for i, a := range assets {
		ids[i], from = a.ID, min(from, a.Moment)
	}
	for in, args := range db.InChunks(ids) {
		if which == inDescription {
			query := `INSERT INTO asset_text (asset_id, hash, text)` +
				` SELECT id, ` + hash + `, ` + text + ` FROM asset WHERE id IN ` + in
			_, err := later.Exec(ctx, query+d.Upsert(textKey, nil), args...)
			if err != nil {
				return err
			}
		}
		where := ` WHERE id IN ` + in + ` AND moment >= ? AND until_moment = ?`
		args = append(slices.Clip(args), from, db.Forever)
		if len(ids) == 1 {
			where, args = ` WHERE id = ? AND moment = ?`, []any{ids[0], from}
		}
		query := `UPDATE asset_version` + d.By("PRIMARY") + ` SET ` + text + ` = NULL, ` +
			hash + ` = (SELECT a.` + hash + ` FROM asset a WHERE a.id = asset_version.id)`
		_, err := later.Exec(ctx, query+where, args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// RewriteTexts changes the documents of some assets that asset_text stores for one column. The
// versions then refer to the new document, or contain it if it is short enough. The caller must
// lock the assets first. RewriteTexts does not change documents that are stored in rows.
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
			if err := insertTexts(ctx, tx, [][]any{{s.asset, apart, text}}); err != nil {
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
