package stored

import (
	"strings"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// maxFolded limits the bytes of the folded forms of all texts of an asset, because they are
// sent to the database server as one value.
const maxFolded = 16<<20 - 64<<10

// isText reports whether a slot holds text.
func (c *Columns) isText(slot int) bool {
	k := c.Slots[slot].Kind
	return k == meta.Str || k == meta.Long
}

// isPlain reports whether the folded form of each text is its lower case. Then no folded forms are
// stored.
func (c *Columns) isPlain(v *Values) bool {
	for slot, x := range v.Slots {
		if text, ok := x.(string); ok && c.isText(slot) && !folding.IsPlain(text) {
			return false
		}
	}
	for _, x := range v.Attrs {
		if !x.isPlain() {
			return false
		}
	}
	return true
}

// isPlain reports whether a value is not a text, or is a text whose folded form is its lower
// case. A text with NUL is not plain; its JSON has an escape, which folding.IsPlain accepts.
func (x Value) isPlain() bool {
	return folding.IsPlain(x.JSON) && !strings.Contains(x.JSON, `\u0000`)
}

// folded returns the folded forms of the texts that are not plain. The key is the name of the
// column, or the key in attrs.
func (c *Columns) folded(v *Values) Attrs {
	var all Attrs
	keep := func(key, text string) {
		if !folding.IsPlain(text) {
			all = append(all, Value{key, value.JSON(folding.Of(text))})
		}
	}
	for slot, x := range v.Slots {
		if text, ok := x.(string); ok && c.isText(slot) {
			keep(c.Slots[slot].Name, text)
		}
	}
	for _, x := range v.Attrs {
		if !x.isPlain() {
			text, _ := value.FromJSON(meta.Text, x.JSON).(string)
			keep(x.Key, text)
		}
	}
	return all
}

// Fits reports whether the folded forms of values can be stored.
func (c *Columns) Fits(v *Values) bool {
	size := v.Attrs.Size()
	for slot, x := range v.Slots {
		if text, ok := x.(string); ok && c.isText(slot) {
			size += len(text)
		}
	}
	return size <= maxFolded/4 || c.folded(v).Size() <= maxFolded
}
