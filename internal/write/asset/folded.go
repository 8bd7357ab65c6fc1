package asset

import (
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// maxFolded limits the bytes of the folded forms of all texts of an asset, because they are
// sent to the server as one value.
const maxFolded = 16<<20 - 64<<10

// maxKey limits the bytes of the folded form of one value of a multi-value scalar, because it
// is part of a key.
const maxKey = 2400

// isText reports whether a slot holds text.
func (l *layout) isText(slot int) bool {
	k := l.slots[slot].Kind
	return k == meta.Str || k == meta.Long
}

// isPlain reports whether the folded form of each text of a state is its lower case. Then no
// folded forms are stored.
func (l *layout) isPlain(st *state) bool {
	for slot, v := range st.slots {
		if text, ok := v.(string); ok && l.isText(slot) && !folding.IsPlain(text) {
			return false
		}
	}
	for _, x := range st.attrs {
		if !x.IsPlain() {
			return false
		}
	}
	return true
}

// folded returns the folded forms of the texts that are not plain. The key is the name of the
// column, or the key in attrs.
func (l *layout) folded(st *state) stored.Attrs {
	var all stored.Attrs
	keep := func(key, text string) {
		if !folding.IsPlain(text) {
			all = append(all, stored.Value{Key: key, JSON: value.JSON(folding.Of(text))})
		}
	}
	for slot, v := range st.slots {
		if text, ok := v.(string); ok && l.isText(slot) {
			keep(l.slots[slot].Name, text)
		}
	}
	for _, x := range st.attrs {
		if !x.IsPlain() {
			text, _ := value.FromJSON(meta.Text, x.JSON).(string)
			keep(x.Key, text)
		}
	}
	return all
}

// fits reports whether the folded forms of a state can be stored.
func (l *layout) fits(st *state) bool {
	size := st.attrs.Size()
	for slot, v := range st.slots {
		if text, ok := v.(string); ok && l.isText(slot) {
			size += len(text)
		}
	}
	return size <= maxFolded/4 || l.folded(st).Size() <= maxFolded
}
