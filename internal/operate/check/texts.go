package check

import (
	"bytes"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/store/db"
)

// texts checks the table asset_text, to which rows refer by hash. It expects that every text to
// which a row refers exists. Every text in the table must match its hash, and a row must refer to
// it.
func (c *checker) texts(ctx context.Context) error {
	for _, column := range db.LongTexts {
		for _, table := range []string{"asset_version", "asset"} {
			if err := c.lostTexts(ctx, table, column); err != nil {
				return err
			}
		}
	}
	return c.storedTexts(ctx)
}

// lostTexts reports hashes without a text in asset_text. The row of the asset also has the text of
// the current version, so a lost text of that version can be restored.
func (c *checker) lostTexts(ctx context.Context, table, column string) error {
	hash := db.HashColumn(column)
	return c.eachIn(ctx, key{table: table, column: "id"}, func(scan row) error {
		var id, moment int64
		var of []byte
		var current sql.NullString
		if err := scan(&id, &moment, &of, &current); err != nil {
			return err
		}
		if current.Valid && bytes.Equal(of, db.TextHash(current.String)) {
			c.mend(`INSERT INTO asset_text (asset_id, hash, text) SELECT id, ?, ? FROM asset WHERE id = ?`+
				` AND NOT EXISTS (SELECT 1 FROM asset_text x WHERE x.asset_id = asset.id AND x.hash = ?)`,
				of, current.String, id, of)
		}
		return c.report(table, id, "moment %d: the text of its %s is missing", moment, column)
	}, `SELECT v.id, v.moment, v.`+hash+`, a.`+column+` FROM `+table+` v`+
		` LEFT JOIN asset_text x ON x.asset_id = v.id AND x.hash = v.`+hash+
		` LEFT JOIN asset a ON a.id = v.id AND a.`+hash+` = v.`+hash+
		` WHERE v.`+hash+` IS NOT NULL AND x.asset_id IS NULL AND {v.id} ORDER BY v.id, v.moment`)
}

// storedTexts reports texts that do not match their hashes, and texts to which no row refers.
func (c *checker) storedTexts(ctx context.Context) error {
	of := " WHERE a.id = x.asset_id AND ("
	for i, hash := range db.HashColumns() {
		if i > 0 {
			of += " OR "
		}
		of += "a." + hash + " = x.hash"
	}
	return c.eachIn(ctx, key{table: "asset_text", column: "asset_id"}, func(scan row) error {
		var id int64
		var hash []byte
		var text string
		var unused bool
		if err := scan(&id, &hash, &text, &unused); err != nil {
			return err
		}
		switch {
		case unused:
			c.mend(`DELETE FROM asset_text WHERE asset_id = ? AND hash = ?`, id, hash)
			return c.report("asset_text", id, "no version refers to its text %.60q", text)
		case !bytes.Equal(hash, db.TextHash(text)):
			return c.report("asset_text", id, "its text %.60q does not match its hash", text)
		}
		return nil
	}, `SELECT x.asset_id, x.hash, x.text, `+db.UnusedText+` AND NOT EXISTS (SELECT 1 FROM asset a`+of+`))`+
		` FROM asset_text x WHERE {x.asset_id} ORDER BY x.asset_id, x.hash`)
}

// longText is one column of the versions of assets. The versions are read in the order of ids and moments.
// A long text that several versions share is read only once for these versions.
type longText struct {
	isSame bool           // the previous version of the asset has the same text in asset_text
	text   sql.NullString // NULL if isSame is true
	last   sql.NullString // the value of the latest version that was read
}

// into returns where to scan the values of ofChanged.
func (l *longText) into() []any { return []any{&l.isSame, &l.text} }

// get returns the value of the version that was scanned. It must be called for every version.
func (l *longText) get() sql.NullString {
	if !l.isSame {
		l.last = l.text
	}
	return l.last
}

// ofChanged returns two expressions for a column of asset_version, for longText.into. The statement must
// read fromVersions.
func ofChanged(column string) string {
	if !slices.Contains(db.LongTexts[:], column) {
		return "0, v." + column
	}
	hash := db.HashColumn(column)
	isSame := "COALESCE(v." + hash + " = p." + hash + ", 0)"
	return isSame + ", CASE WHEN " + isSame + " = 1 THEN NULL ELSE " + db.OfVersion("v", column) + " END"
}

// fromVersions is the end of a statement that reads the versions v of a part, for eachIn. The row p has the
// hashes of the previous version of the asset.
var fromVersions = func() string {
	var before strings.Builder
	for _, hash := range db.HashColumns() {
		before.WriteString(", LAG(" + hash + ") OVER (PARTITION BY id ORDER BY moment) AS " + hash)
	}
	return " FROM (SELECT id, moment" + before.String() + " FROM asset_version WHERE {id}) p" +
		" JOIN asset_version v ON v.id = p.id AND v.moment = p.moment ORDER BY p.id, p.moment"
}()
