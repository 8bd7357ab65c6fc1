package stored

import (
	"bytes"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// fixed are the columns of asset and of asset_version that do not store values of attributes.
var fixed = []string{
	"id", "type", "state", "moment", "audit_id", "created_moment", "created_at", "created_by", "changed_at", "changed_by",
}

// changing are the fixed columns that every change writes. Some changes also write state.
var changing = []string{"moment", "audit_id", "changed_at", "changed_by"}

// keyColumns are the columns in the indexes of the table asset, except the fixed columns.
var keyColumns = []string{
	"number", "scope_id", "parent_id", "super_id", "timebox_id", "team_id", "status_id", "order_key",
}

// Columns are the columns that store the values of attributes. They never change.
type Columns struct {
	Slots []meta.Column // the index is meta.Place.Slot

	prepares        bool     // true for SQLite: statements for a few assets are prepared
	all             []string // fixed, slots, attrs
	copied, copying string   // see Copied
	description     int      // slot of description; -1 if the model does not have it
}

// NewColumns returns the columns for a database. slots are the columns of a model.
func NewColumns(slots []meta.Column, d *db.Dialect) *Columns {
	c := &Columns{Slots: slots, prepares: d.IsAlone, description: -1}
	c.all = append(c.all, fixed...)
	for i, slot := range slots {
		c.all = append(c.all, slot.Name)
		if slot.Name == "description" {
			c.description = i
		}
	}
	c.all = append(c.all, "attrs")
	copied := slices.Concat(c.all, []string{"folded"}, db.HashColumns())
	c.copied, c.copying = strings.Join(copied, ", "), db.ForVersion(copied)
	return c
}

// Description returns the slot of the description; -1 if the model does not have it.
func (c *Columns) Description() int { return c.description }

// Prepared reports whether statements for a few assets are prepared.
func (c *Columns) Prepared() bool { return c.prepares }

// All returns the columns from which an asset is read, except the columns of hashes: id, type,
// state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by, the
// slots and attrs.
func (c *Columns) All() []string { return c.all }

// Copied returns the columns that versions copy from the table asset, separated by commas, and the
// expressions that copy them, in the same order.
func (c *Columns) Copied() (columns, expressions string) { return c.copied, c.copying }

// Set contains the columns of a statement about assets, except the fixed columns. It contains every
// column that at least one row needs.
type Set struct {
	slots  []int
	attrs  bool
	folded bool  // true if a text may change
	hashes []int // indexes in db.LongTexts
}

// fewRows is the largest number of rows for which a prepared statement has all columns. Fewer
// columns would save less than the preparation of another statement costs.
const fewRows = 16

// needed returns the columns for n rows. The function needs reports whether row i needs a slot. The
// function attrs reports whether row i needs the column attrs.
func (c *Columns) needed(n int, needs func(i, slot int) bool, attrs func(i int) bool) Set {
	var set Set
	for slot := range c.Slots {
		if c.anyRow(n, func(i int) bool { return needs(i, slot) }) {
			set.slots = append(set.slots, slot)
		}
	}
	set.attrs = c.anyRow(n, attrs)
	set.folded = set.attrs || slices.ContainsFunc(set.slots, c.isText)
	return set
}

// Changed returns the columns that contain all changes of n rows. The function row returns the
// current values and the stored values of row i. The set contains a column of an index only if its
// value changes in some row, even if there are few rows. The reason: SQLite writes an index again
// whenever one of its columns is set.
func (c *Columns) Changed(n int, row func(i int) (now, was *Values)) Set {
	changed := func(i, slot int) bool {
		now, was := row(i)
		return now.Slots[slot] != was.Slots[slot]
	}
	hash := func(i, text int) bool {
		now, was := row(i)
		return !bytes.Equal(now.Hashes[text], was.Hashes[text])
	}
	attrs := func(i int) bool {
		now, was := row(i)
		return !slices.Equal(now.Attrs, was.Attrs)
	}
	set := c.needed(n, changed, attrs)
	set.hashes = c.hashesNeeded(n, hash)
	set.slots = slices.DeleteFunc(set.slots, func(slot int) bool {
		if !slices.Contains(keyColumns, c.Slots[slot].Name) {
			return false
		}
		for i := range n {
			if changed(i, slot) {
				return false
			}
		}
		return true
	})
	return set
}

// anyRow reports whether any of n rows needs a column. It is always true if the statement is
// prepared and has at most fewRows rows.
func (c *Columns) anyRow(n int, needs func(i int) bool) bool {
	needed := c.prepares && n <= fewRows
	for i := 0; i < n && !needed; i++ {
		needed = needs(i)
	}
	return needed
}

// Filled returns the columns that contain all values of n rows.
func (c *Columns) Filled(n int, row func(i int) *Values) Set {
	filled := func(i, slot int) bool { return row(i).Slots[slot] != nil }
	set := c.needed(n, filled, func(i int) bool { return len(row(i).Attrs) > 0 })
	set.folded = c.anyRow(n, func(i int) bool { return !c.isPlain(row(i)) })
	set.hashes = c.hashesNeeded(n, func(i, text int) bool { return row(i).Hashes[text] != nil })
	return set
}

// hashesNeeded returns the indexes in db.LongTexts of the hashes that any of n rows needs.
func (c *Columns) hashesNeeded(n int, needs func(i, text int) bool) (all []int) {
	for text := range db.LongTexts {
		if c.anyRow(n, func(i int) bool { return needs(i, text) }) {
			all = append(all, text)
		}
	}
	return all
}

// Names returns the names of the fixed columns and of a set, in the order of All and Append.
func (c *Columns) Names(set Set) []string { return c.namesAfter(fixed, set) }

// Changing returns the names of the columns that an update of a set writes, except the column
// state.
func (c *Columns) Changing(set Set) []string { return c.namesAfter(changing, set) }

func (c *Columns) namesAfter(first []string, set Set) []string {
	all := slices.Clone(first)
	for _, slot := range set.slots {
		all = append(all, c.Slots[slot].Name)
	}
	if set.attrs {
		all = append(all, "attrs")
	}
	if set.folded {
		all = append(all, "folded")
	}
	for _, text := range set.hashes {
		all = append(all, db.HashColumn(db.LongTexts[text]))
	}
	return all
}

// Append appends the values of a set of columns to the arguments of a statement. For a row of
// asset_version (isVersion) it omits texts that have a hash, because these texts are in asset_text.
func (c *Columns) Append(args []any, set Set, v *Values, isVersion bool) []any {
	apart := func(which int) bool { return isVersion && v.Hashes[which] != nil }
	for _, slot := range set.slots {
		x := v.Slots[slot]
		if slot == c.description && apart(inDescription) {
			x = nil
		}
		args = append(args, x)
	}
	if set.attrs {
		args = append(args, textUnless(apart(inAttrs), v.Attrs))
	}
	if set.folded {
		args = append(args, textUnless(apart(inFolded), c.folded(v)))
	}
	for _, which := range set.hashes {
		args = append(args, v.Hashes[which])
	}
	return args
}

// textUnless returns the text of a JSON document, or nil if the text is in asset_text (apart).
func textUnless(apart bool, as Attrs) any {
	if apart {
		return nil
	}
	return as.Text()
}
