package stored

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// Values are the values of one version of an asset, as its row stores them.
type Values struct {
	Slots  []any // the index is meta.Place.Slot; nil is NULL
	Attrs  Attrs
	Hashes Hashes
}

// Clone returns a copy for changes. It shares Attrs, which are never changed in place.
func (v *Values) Clone() Values {
	c := *v
	c.Slots = append([]any(nil), v.Slots...)
	return c
}

// Same reports whether two versions have the same values, except hashes.
func (v *Values) Same(as *Values) bool {
	if len(v.Attrs) != len(as.Attrs) || !slices.Equal(v.Slots, as.Slots) {
		return false
	}
	for _, x := range v.Attrs {
		if !slices.Contains(as.Attrs, x) {
			return false
		}
	}
	return true
}

// Get returns the stored value of an attribute in a column or in Attrs, or nil if there is no
// value.
func (v *Values) Get(a *meta.Attr) any {
	switch a.Place.Kind {
	case meta.InColumn:
		if a.Place.Slot >= 0 {
			return v.Slots[a.Place.Slot]
		}
	case meta.InAttrs:
		return v.Attrs.Get(a)
	}
	return nil
}

// TextSize returns the size of the texts in bytes.
func (v *Values) TextSize() int64 {
	n := 0
	for _, x := range v.Slots {
		if text, ok := x.(string); ok {
			n += len(text)
		}
	}
	for _, x := range v.Attrs {
		n += len(x.JSON)
	}
	return int64(n)
}
