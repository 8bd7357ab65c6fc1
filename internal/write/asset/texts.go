package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
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

// hash sets the hashes of a version. A text has one when a second version has it; the one
// that brings it keeps it in its row until then.
func (l *layout) hash(v *version) {
	stored, latest := v.row.stored, v.row.latest
	for which := range v.hashes {
		v.hashes[which] = nil
		switch {
		case stored == nil || !l.sameText(v.state, stored, which):
		case stored.hashes[which] != nil:
			v.hashes[which] = stored.hashes[which]
		case l.sameText(latest.state, stored, which):
			if text := l.longText(v.state, which); len(text) > db.MaxInline {
				v.hashes[which] = db.TextHash(text)
			}
		}
	}
}

// hashTexts sets the hashes of all versions.
func (w *writer) hashTexts(context.Context) error {
	for _, v := range w.changes.versions {
		w.layout.hash(v)
	}
	return nil
}

// texts moves the texts out of the versions that were current, where what follows has them
// too. What lies there from an earlier version stays: the assets are locked, so nobody
// removes it. Descriptions are copied on the server. A document would be copied as the
// server writes it, which differs between servers, so it is sent.
func (w *writer) texts(ctx context.Context) error {
	var moved [len(db.LongTexts)][]*row
	var documents [][]any
	for _, a := range w.changes.changed {
		for which, hash := range a.cur.hashes {
			if hash == nil || a.stored.hashes[which] != nil {
				continue
			}
			if moved[which] = append(moved[which], a); which != inDescription {
				documents = append(documents, []any{a.id, hash, w.layout.longText(a.cur, which)})
			}
		}
	}
	if err := storeTexts(ctx, w.later, documents); err != nil {
		return fmt.Errorf("insert texts: %w", err)
	}
	for which, rows := range moved {
		if err := w.move(ctx, which, rows); err != nil {
			return fmt.Errorf("move texts: %w", err)
		}
	}
	return nil
}

// move moves one of the long texts of the versions that were current of some assets, and
// stores it if it is a description. A single one is addressed by its whole key, as in
// closings.
func (w *writer) move(ctx context.Context, which int, rows []*row) error {
	d, text := w.tx.Dialect(), db.LongTexts[which]
	hash := db.HashColumn(text)
	ids, from := make([]int64, len(rows)), db.Forever
	for i, a := range rows {
		ids[i], from = a.id, min(from, a.stored.moment)
	}
	for in, args := range db.InChunks(ids) {
		if which == inDescription {
			_, err := w.later.Exec(ctx, `INSERT INTO asset_text (asset_id, hash, text) SELECT id, `+hash+`, `+text+` FROM asset WHERE id IN `+in+d.Upsert(textKey, nil), args...)
			if err != nil {
				return err
			}
		}
		where := ` WHERE id IN ` + in + ` AND moment >= ? AND until_moment = ?`
		args = append(slices.Clip(args), from, db.Forever)
		if len(ids) == 1 {
			where, args = ` WHERE id = ? AND moment = ?`, []any{ids[0], from}
		}
		_, err := w.later.Exec(ctx, `UPDATE asset_version`+d.By("PRIMARY")+` SET `+text+` = NULL, `+hash+` = (SELECT a.`+hash+` FROM asset a WHERE a.id = asset_version.id)`+where, args...)
		if err != nil {
			return err
		}
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
		asset int64
		hash  []byte
	}
	all, err := db.Collect(ctx, tx, `SELECT x.asset_id, x.hash FROM asset_text x WHERE x.asset_id IN `+in+
		` AND EXISTS (SELECT 1 FROM asset_version v WHERE v.id = x.asset_id AND v.`+hash+` = x.hash)`, args, func(row db.Scanner) (s stored, err error) {
		return s, row.Scan(&s.asset, &s.hash)
	})
	if err != nil {
		return err
	}
	for _, s := range all { // one at a time: each may have 15 MiB
		var document string
		if err := tx.QueryRow(ctx, `SELECT text FROM asset_text WHERE asset_id = ? AND hash = ?`, s.asset, s.hash).Scan(&document); err != nil {
			return err
		}
		old, err := parseAttrs(document)
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
