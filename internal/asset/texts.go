package asset

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
)

// hashes are those of the long texts of a state, in the order of db.LongTexts; nil where
// its version has the text itself.
type hashes [len(db.LongTexts)][]byte

// The places of texts in db.LongTexts.
const (
	inDescription = iota
	inAttrs
	inFolded
)

// longText is one of the long texts of a state, as it is stored.
func (l *layout) longText(st *state, which int) (text string) {
	switch which {
	case inDescription:
		if l.description >= 0 {
			text, _ = st.slots[l.description].(string)
		}
	case inAttrs:
		if st.attrs.size() > db.MaxInline {
			text, _ = st.attrs.text().(string)
		}
	case inFolded:
		if !l.isPlain(st) {
			text, _ = l.folded(st).text().(string)
		}
	}
	return text
}

// sameText reports whether one of the long texts of a state is that of another.
func (l *layout) sameText(st, as *state, which int) bool {
	sameSlot := func(slot int) bool { return st.slots[slot] == as.slots[slot] }
	switch which {
	case inDescription:
		return l.description < 0 || sameSlot(l.description)
	case inAttrs:
		return slices.Equal(st.attrs, as.attrs)
	}
	for slot := range l.slots {
		if l.isText(slot) && !sameSlot(slot) {
			return false
		}
	}
	return slices.Equal(st.attrs, as.attrs)
}

// hash sets the hashes of a state. A text that is as it was stored keeps its hash, by
// which it lies there already.
func (l *layout) hash(st, stored *state) {
	for which := range st.hashes {
		if stored != nil && stored.hashes[which] != nil && l.sameText(st, stored, which) {
			st.hashes[which] = stored.hashes[which]
			continue
		}
		st.hashes[which] = nil
		if text := l.longText(st, which); len(text) > db.MaxInline {
			st.hashes[which] = db.TextHash(text)
		}
	}
}

// hashTexts sets the hashes of all versions.
func (w *writer) hashTexts(context.Context) error {
	for _, v := range w.changes.versions {
		w.layout.hash(v.state, v.row.stored)
	}
	return nil
}

// texts stores the long texts that the assets did not have. What may be there all the
// same, from an earlier version, stays: the assets are locked, so nobody removes it. Many
// descriptions are copied on the server; for a few that costs more than to send them again.
// A document would be copied as the server writes it, which differs between servers.
func (w *writer) texts(ctx context.Context) error {
	var copied []int64
	var sent [][]any
	for _, v := range w.changes.versions {
		for which, hash := range v.hashes {
			stored := v.row.stored
			switch {
			case hash == nil || stored != nil && bytes.Equal(hash, stored.hashes[which]):
			case which == inDescription && v == v.row.latest && len(w.changes.versions) > fewRows:
				copied = append(copied, v.row.id)
			default:
				sent = append(sent, []any{v.row.id, hash, w.layout.longText(v.state, which)})
			}
		}
	}
	for in, args := range db.InChunks(copied) {
		_, err := w.later.Exec(ctx, `INSERT INTO asset_text (asset_id, hash, text) SELECT id, description_hash, description FROM asset WHERE id IN `+in+
			w.tx.Dialect().Upsert(textKey, nil), args...)
		if err != nil {
			return fmt.Errorf("copy texts: %w", err)
		}
	}
	if err := storeTexts(ctx, w.later, sent); err != nil {
		return fmt.Errorf("insert texts: %w", err)
	}
	return nil
}

// textKey is the key of asset_text.
var textKey = []string{"asset_id", "hash"}

// storeTexts writes rows of asset_text, but for those that are there.
func storeTexts(ctx context.Context, to db.Execer, rows [][]any) error {
	return db.UpsertN(ctx, to, "asset_text", append(slices.Clip(textKey), "text"), textKey, nil, len(rows), func(i int) []any { return rows[i] })
}

// rewriteTexts changes the documents in one of the columns of some assets that lie apart,
// and in their versions. The assets are locked; what stands in a row is left to the caller.
func rewriteTexts(ctx context.Context, tx *db.Tx, column string, ids []int64, change func(attrs) attrs) error {
	hash := db.HashColumn(column)
	in, args := db.InArgs(ids)
	type stored struct {
		asset      int64
		hash, text []byte
	}
	all, err := db.Collect(ctx, tx, `SELECT x.asset_id, x.hash, x.text FROM asset_text x WHERE x.asset_id IN `+in+
		` AND EXISTS (SELECT 1 FROM asset_version v WHERE v.id = x.asset_id AND v.`+hash+` = x.hash)`, args, func(row db.Scanner) (s stored, err error) {
		return s, row.Scan(&s.asset, &s.hash, &s.text)
	})
	if err != nil {
		return err
	}
	for _, s := range all {
		old, err := parseAttrs(string(s.text))
		if err != nil {
			return err
		}
		as := change(old)
		if len(as) == len(old) {
			continue
		}
		text, _ := as.text().(string)
		if text == "" {
			text = "{}" // as the database leaves it
		}
		inline, apart := any(text), any(nil)
		if len(text) > db.MaxInline {
			inline, apart = nil, db.TextHash(text)
			if err := storeTexts(ctx, tx, [][]any{{s.asset, apart, text}}); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `UPDATE asset_version SET `+column+` = ?, `+hash+` = ? WHERE id = ? AND `+hash+` = ?`, inline, apart, s.asset, s.hash); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE asset SET `+hash+` = ? WHERE id = ? AND `+hash+` = ?`, apart, s.asset, s.hash); err != nil {
			return err
		}
	}
	return db.RemoveTexts(ctx, tx, ids)
}
