package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// hashes are the hashes of the long texts of a state, in the order of db.LongTexts. A text with a
// hash is stored in asset_text, and a text without a hash in the row of the version.
type hashes [len(db.LongTexts)][]byte

// The indexes of the long texts in db.LongTexts.
const (
	inDescription = iota
	inAttrs
	inFolded
)

// longText returns one of the long texts of a state as it is stored. index is its index in
// db.LongTexts. For attrs that fit into the row it returns an empty text.
func (l *layout) longText(st *state, index int) (text string) {
	switch index {
	case inDescription:
		if l.description >= 0 {
			text, _ = st.slots[l.description].(string)
		}
	case inAttrs:
		if st.attrs.Size() > db.MaxInline {
			text, _ = st.attrs.Text().(string)
		}
	case inFolded:
		if !l.isPlain(st) {
			text, _ = l.folded(st).Text().(string)
		}
	}
	return text
}

// sameText reports whether two states have the same long text. index is its index in
// db.LongTexts.
func (l *layout) sameText(st, other *state, index int) bool {
	sameSlot := func(slot int) bool { return st.slots[slot] == other.slots[slot] }
	switch index {
	case inDescription:
		return l.description < 0 || sameSlot(l.description)
	case inAttrs:
		return slices.Equal(st.attrs, other.attrs)
	}
	for slot := range l.slots {
		if l.isText(slot) && !sameSlot(slot) {
			return false
		}
	}
	return slices.Equal(st.attrs, other.attrs)
}

// hash sets the hashes of a version. A text that has a hash keeps it. A text without a hash gets
// one if the asset had the text before the batch and still has it at the end of the batch. A text
// that is new in the batch gets no hash, and stays in the rows of its versions.
func (l *layout) hash(v *version) {
	was, latest := v.row.stored, v.row.latest
	for which := range v.hashes {
		v.hashes[which] = nil
		switch {
		case was == nil || !l.sameText(v.state, was, which):
		case was.hashes[which] != nil:
			v.hashes[which] = was.hashes[which]
		case l.sameText(latest.state, was, which):
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

// texts moves long texts to asset_text. It moves a text out of the version that was current
// before the batch if the asset still has the text. A text that is already in asset_text stays;
// nobody removes it while the assets are locked. Descriptions are copied inside the database.
// JSON documents are sent, because servers print the same document differently.
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
	if err := stored.InsertTexts(ctx, w.later, documents); err != nil {
		return fmt.Errorf("insert texts: %w", err)
	}
	for which, rows := range moved {
		if err := w.move(ctx, which, rows); err != nil {
			return fmt.Errorf("move texts: %w", err)
		}
	}
	return nil
}

// move replaces one of the long texts by its hash, in the versions of some assets that were
// current before the batch. If it is the description, move first copies it to asset_text. A
// single version is addressed by its whole key, for the same reason as in closings.
func (w *writer) move(ctx context.Context, which int, rows []*row) error {
	d, text := w.tx.Dialect(), db.LongTexts[which]
	hash := db.HashColumn(text)
	ids, from := make([]int64, len(rows)), db.Forever
	for i, a := range rows {
		ids[i], from = a.id, min(from, int64(a.stored.moment))
	}
	for in, args := range db.InChunks(ids) {
		if which == inDescription {
			if err := stored.CopyTexts(ctx, w.later, d, text, in, args); err != nil {
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
		_, err := w.later.Exec(ctx, query+where, args...)
		if err != nil {
			return err
		}
	}
	return nil
}
