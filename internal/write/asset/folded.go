package asset

import (
	"strings"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// maxFolded is how many bytes the folded forms of an asset's texts may take
// together: they go to the server as one value.
const maxFolded = 16<<20 - 64<<10

// maxKey is how many bytes the folded form of one value of a multi-value scalar
// may take: it is part of a key.
const maxKey = 2400

// isText reports whether a slot holds text.
func (l *layout) isText(slot int) bool {
	k := l.slots[slot].Kind
	return k == meta.Str || k == meta.Long
}

// isPlain reports whether the lower case of all texts of a state is their folded
// form, so that nothing is stored beside them.
func (l *layout) isPlain(st *state) bool {
	for slot, v := range st.slots {
		if text, ok := v.(string); ok && l.isText(slot) && !folding.IsPlain(text) {
			return false
		}
	}
	for _, x := range st.attrs {
		if !x.isPlain() {
			return false
		}
	}
	return true
}

// isPlain reports whether a value is no text, or one whose lower case is its folded form.
// JSON has an escape for NUL, which is never plain.
func (x attrValue) isPlain() bool {
	return folding.IsPlain(x.json) && !strings.Contains(x.json, `\u0000`)
}

// folded are the folded forms of the texts that are not plain, by column, and
// those of attrs by their keys.
func (l *layout) folded(st *state) attrs {
	var all attrs
	keep := func(key, text string) {
		if !folding.IsPlain(text) {
			all = append(all, attrValue{key, value.JSON(folding.Of(text))})
		}
	}
	for slot, v := range st.slots {
		if text, ok := v.(string); ok && l.isText(slot) {
			keep(l.slots[slot].Name, text)
		}
	}
	for _, x := range st.attrs {
		if !x.isPlain() {
			text, _ := value.FromJSON(meta.Text, x.json).(string)
			keep(x.key, text)
		}
	}
	return all
}

// fits reports whether the folded forms of a state can be stored.
func (l *layout) fits(st *state) bool {
	size := st.attrs.size()
	for slot, v := range st.slots {
		if text, ok := v.(string); ok && l.isText(slot) {
			size += len(text)
		}
	}
	return size <= maxFolded/4 || l.folded(st).size() <= maxFolded
}
