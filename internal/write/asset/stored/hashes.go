package stored

import (
	"slices"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/store/db"
)

// Hashes are the hashes of the long texts of a version, in the order of db.LongTexts. A text with a
// hash is stored in asset_text, and a text without a hash in the row of the version.
type Hashes [len(db.LongTexts)][]byte

// The indexes of the long texts in db.LongTexts.
const (
	inDescription = iota
	inAttrs
	inFolded
)

// longText returns one of the long texts as it is stored. The last parameter is the index of the
// text in db.LongTexts. For attrs that fit into the row, longText returns an empty text.
func (c *Columns) longText(v *Values, which int) (text string) {
	switch which {
	case inDescription:
		if c.description >= 0 {
			text, _ = v.Slots[c.description].(string)
		}
	case inAttrs:
		if v.Attrs.Size() > db.MaxInline {
			text, _ = v.Attrs.Text().(string)
		}
	case inFolded:
		if !c.isPlain(v) {
			text, _ = c.folded(v).Text().(string)
		}
	}
	return text
}

// sameText reports whether two versions have the same long text. The last parameter is the index of
// the text in db.LongTexts.
func (c *Columns) sameText(v, other *Values, which int) bool {
	sameSlot := func(slot int) bool { return v.Slots[slot] == other.Slots[slot] }
	switch which {
	case inDescription:
		return c.description < 0 || sameSlot(c.description)
	case inAttrs:
		return slices.Equal(v.Attrs, other.Attrs)
	}
	return c.sameFolded(v, other)
}

// sameFolded reports whether two versions have the same folded forms. These depend only on the texts that are
// not plain.
func (c *Columns) sameFolded(v, other *Values) bool {
	for slot := range c.Slots {
		x, y := v.Slots[slot], other.Slots[slot]
		if c.isText(slot) && x != y && (hasForm(x) || hasForm(y)) {
			return false
		}
	}
	return slices.Equal(v.Attrs, other.Attrs) || slices.Equal(v.Attrs.withForms(), other.Attrs.withForms())
}

// hasForm reports whether a folded form of the value of a slot is stored.
func hasForm(x any) bool {
	text, ok := x.(string)
	return ok && !folding.IsPlain(text)
}

// withForms returns the values whose folded forms are stored.
func (as Attrs) withForms() Attrs {
	var all Attrs
	for _, x := range as {
		if !x.isPlain() {
			all = append(all, x)
		}
	}
	return all
}

// Hash sets the hashes of the version v. The parameter was is the version before the batch, or
// nil. latest is the last version of the batch. A text that has a hash keeps it. A text without a
// hash gets one if the asset had the text before the batch and still has it at the end of the
// batch. A text that is new in the batch gets no hash, and stays in the rows of its versions.
func (c *Columns) Hash(v, was, latest *Values) {
	for which := range v.Hashes {
		v.Hashes[which] = nil
		switch {
		case was == nil || !c.sameText(v, was, which):
		case was.Hashes[which] != nil:
			v.Hashes[which] = was.Hashes[which]
		case c.sameText(latest, was, which):
			if text := c.longText(v, which); len(text) > db.MaxInline {
				v.Hashes[which] = db.TextHash(text)
			}
		}
	}
}

// HasLong reports whether the row of a version has a description or attrs whose size in bytes is
// above the limit most.
func (c *Columns) HasLong(v *Values, most int) bool {
	return v.Hashes[inDescription] == nil && len(c.longText(v, inDescription)) > most ||
		v.Hashes[inAttrs] == nil && v.Attrs.Size() > most
}
