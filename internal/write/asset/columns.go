package asset

import (
	"bytes"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
)

// columnSet contains the columns of a statement about assets, except the fixed columns. It
// contains every column that at least one row needs.
type columnSet struct {
	slots  []int
	attrs  bool
	folded bool  // needed if a text may change
	hashes []int // indexes in db.LongTexts
}

// fewRows is the largest number of rows for which a prepared statement has all columns. Fewer
// columns would save less than the preparation of another statement costs.
const fewRows = 16

// columnsNeeded returns the columns for n rows. needs reports whether row i needs a slot, and
// attrs whether it needs the column attrs.
func (l *layout) columnsNeeded(n int, needs func(i, slot int) bool, attrs func(i int) bool) columnSet {
	var sh columnSet
	for slot := range l.slots {
		if l.anyRow(n, func(i int) bool { return needs(i, slot) }) {
			sh.slots = append(sh.slots, slot)
		}
	}
	sh.attrs = l.anyRow(n, attrs)
	sh.folded = sh.attrs || slices.ContainsFunc(sh.slots, l.isText)
	return sh
}

// columnsChanged returns the columns that contain all changes of rows. It contains a column
// of a key only if a value changes, even if the rows are few. SQLite writes a key again
// whenever one of its columns is set.
func (l *layout) columnsChanged(rows []*row) columnSet {
	changed := func(i, slot int) bool { return rows[i].cur.slots[slot] != rows[i].stored.slots[slot] }
	hash := func(i, text int) bool { return !bytes.Equal(rows[i].cur.hashes[text], rows[i].stored.hashes[text]) }
	attrs := func(i int) bool { return !slices.Equal(rows[i].cur.attrs, rows[i].stored.attrs) }
	sh := l.columnsNeeded(len(rows), changed, attrs)
	sh.hashes = l.hashesNeeded(len(rows), hash)
	sh.slots = slices.DeleteFunc(sh.slots, func(slot int) bool {
		if !slices.Contains(keyColumns, l.slots[slot].Name) {
			return false
		}
		for i := range rows {
			if changed(i, slot) {
				return false
			}
		}
		return true
	})
	return sh
}

// anyRow reports whether any of n rows needs a column. It is always true if the statement is
// prepared and has at most fewRows rows.
func (l *layout) anyRow(n int, needs func(i int) bool) bool {
	needed := l.prepares && n <= fewRows
	for i := 0; i < n && !needed; i++ {
		needed = needs(i)
	}
	return needed
}

// columnsFilled returns the columns that contain all values of n states.
func (l *layout) columnsFilled(n int, st func(i int) *state) columnSet {
	filled := func(i, slot int) bool { return st(i).slots[slot] != nil }
	sh := l.columnsNeeded(n, filled, func(i int) bool { return len(st(i).attrs) > 0 })
	sh.folded = l.anyRow(n, func(i int) bool { return !l.isPlain(st(i)) })
	sh.hashes = l.hashesNeeded(n, func(i, text int) bool { return st(i).hashes[text] != nil })
	return sh
}

// hashesNeeded returns the indexes in db.LongTexts of the hashes that any of n rows needs.
func (l *layout) hashesNeeded(n int, needs func(i, text int) bool) (all []int) {
	for text := range db.LongTexts {
		if l.anyRow(n, func(i int) bool { return needs(i, text) }) {
			all = append(all, text)
		}
	}
	return all
}

// columnsOf returns the names of the fixed columns, then the names of the columns of a set.
func (l *layout) columnsOf(sh columnSet, fixed []string) []string {
	all := slices.Clone(fixed)
	for _, slot := range sh.slots {
		all = append(all, l.slots[slot].Name)
	}
	if sh.attrs {
		all = append(all, "attrs")
	}
	if sh.folded {
		all = append(all, "folded")
	}
	for _, text := range sh.hashes {
		all = append(all, db.HashColumn(db.LongTexts[text]))
	}
	return all
}
