package asset

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// versions reads the versions and the ones before them, except current versions, which are loaded
// already. It does not read texts from asset_text.
func (r *pastReader) versions(ctx context.Context) error {
	in, args := db.InArgs(r.ids)
	columns := slices.Concat(r.s.e.layout.All(), db.HashColumns(), []string{"until_moment"})
	query := `SELECT ` + strings.Join(columns, ", ") + ` FROM asset_version WHERE id IN ` + in +
		` AND (moment BETWEEN ? AND ? OR until_moment BETWEEN ? AND ?) AND until_moment < ? ORDER BY id, moment`
	err := db.Each(ctx, r.s.tx, query, append(args, r.first, r.to, r.first, r.to, db.Forever), func(scan db.Scanner) error {
		v, err := r.scanEnded(scan)
		if err != nil {
			return err
		}
		moments := r.of[v.id].moments
		if slices.Contains(moments, int64(v.st.moment)) || slices.Contains(moments, int64(v.st.until)) {
			r.ended = append(r.ended, v)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read versions to undo: %w", err)
	}
	return nil
}

// scanEnded reads a row of asset_version.
func (r *pastReader) scanEnded(scan db.Scanner) (*endedVersion, error) {
	layout := r.s.e.layout
	v := &endedVersion{st: layout.newState()}
	st := v.st
	var typ int
	var attrs any
	into := []any{
		&v.id, &typ, &st.code, &st.moment, &st.audit, &st.createdMoment, &st.createdAt, &st.createdBy, &st.changedAt, &st.changedBy,
	}
	for i := range st.Slots {
		into = append(into, &st.Slots[i])
	}
	into = append(into, &attrs)
	for i := range st.Hashes {
		into = append(into, &st.Hashes[i])
	}
	if err := scan.Scan(append(into, &st.until)...); err != nil {
		return nil, err
	}
	for i := range st.Slots {
		st.Slots[i] = value.FromColumn(layout.Slots[i].Kind, st.Slots[i])
	}
	v.attrs = textOf(attrs)
	r.bytes += st.TextSize() + int64(len(v.attrs))
	return v, r.proceed()
}

// textKey identifies a text of asset_text.
type textKey struct {
	id   int64
	hash string
}

// texts completes the versions with the texts that their rows do not contain. Usually the current
// version has the same text.
func (r *pastReader) texts(ctx context.Context) error {
	const description, attrs = 0, 1 // indexes in db.LongTexts
	needed := map[textKey]string{}
	for _, v := range r.ended {
		now := r.rows[v.id].stored
		for _, which := range [...]int{description, attrs} {
			if h := v.st.Hashes[which]; h != nil && !bytes.Equal(h, now.Hashes[which]) {
				needed[textKey{v.id, string(h)}] = ""
			}
		}
	}
	if err := r.readTexts(ctx, needed); err != nil {
		return err
	}
	slot := r.s.e.layout.Description()
	for _, v := range r.ended {
		now := r.rows[v.id].stored
		if h := v.st.Hashes[description]; h != nil && slot >= 0 {
			v.st.Slots[slot] = now.Slots[slot]
			if !bytes.Equal(h, now.Hashes[description]) {
				v.st.Slots[slot] = needed[textKey{v.id, string(h)}]
			}
		}
		h := v.st.Hashes[attrs]
		if h != nil && bytes.Equal(h, now.Hashes[attrs]) {
			v.st.Attrs = now.Attrs
			continue
		}
		if h != nil {
			v.attrs = needed[textKey{v.id, string(h)}]
		}
		var err error
		if v.st.Attrs, err = stored.Parse(v.attrs); err != nil {
			return fmt.Errorf("asset %d at moment %d: %w", v.id, v.st.moment, err)
		}
	}
	return nil
}

// readTexts reads texts of asset_text.
func (r *pastReader) readTexts(ctx context.Context, needed map[textKey]string) error {
	var ids []int64
	for key := range needed {
		ids = append(ids, key.id)
	}
	slices.Sort(ids)
	for in, args := range db.InChunks(slices.Compact(ids)) {
		err := db.Each(ctx, r.s.tx, `SELECT asset_id, hash, text FROM asset_text WHERE asset_id IN `+in, args, func(scan db.Scanner) error {
			var id int64
			var hash []byte
			var text string
			if err := scan.Scan(&id, &hash, &text); err != nil {
				return err
			}
			key := textKey{id, string(hash)}
			if _, is := needed[key]; !is {
				return nil
			}
			needed[key] = text
			r.bytes += int64(len(text))
			return r.proceed()
		})
		if err != nil {
			return fmt.Errorf("read texts to undo: %w", err)
		}
	}
	return nil
}

// proceed returns an error if the batch holds too much text.
// Errors: errSplit; fault.Invalid with ErrReach.
func (r *pastReader) proceed() error {
	switch {
	case r.several && r.bytes > maxHeld:
		return errSplit
	case r.bytes > maxHeldOfOne:
		return tooMuchHeld()
	}
	return nil
}
