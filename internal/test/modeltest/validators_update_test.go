package modeltest

import (
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/write/asset"
)

// update compares CanUpdate and IsReadOnly of an asset with the results of ordinary updates. If the asset
// is read-only, no update may succeed.
func (v *validation) update(o oid.OID, t *meta.Type, state int) {
	if v.hidden(o) || !v.hasPlain(t) {
		return
	}
	v.updateAs("administrator", auth.System, o, t, state)
	for name, who := range v.some {
		v.updateAs(name, who, o, t, state)
	}
}

func (v *validation) updateAs(name string, who auth.Actor, o oid.OID, t *meta.Type, state int) {
	says, seen := v.says(who, o, "CanUpdate")
	if !seen {
		return
	}
	if readOnly, _ := v.says(who, o, "IsReadOnly"); readOnly == says && !tellsOfOther(t) {
		v.Errorf("%s in state %d: CanUpdate and IsReadOnly both say %v to the %s", o, state, says, name)
	}
	if can := v.changes(who, o, t); can != says {
		v.Errorf("%s in state %d: CanUpdate says %v to the %s, and an update succeeds: %v", o, state, says, name, can)
	}
}

// tellsOfOther reports whether IsReadOnly describes something other than the asset. On a definition, for
// example, it describes the attribute that is defined.
func tellsOfOther(t *meta.Type) bool {
	a, ok := t.Attr("IsReadOnly")
	return ok && a.Place.Kind == meta.InAttrs
}

// changes reports whether an update of at least one attribute of the asset succeeds.
func (v *validation) changes(who auth.Actor, o oid.OID, t *meta.Type) bool {
	for _, a := range t.Attrs {
		if a.ReadOnly || a.Multi || a.Kind == meta.Relation || a.Kind == meta.Password || a.Kind == meta.Rank || a.Name == "Username" ||
			a.Place.Kind != meta.InColumn && a.Place.Kind != meta.InAttrs {
			continue
		}
		text := map[meta.Kind]string{
			meta.Boolean: "true", meta.Numeric: "7", meta.Date: "2026-01-20", meta.Duration: "3 Days", meta.LongInt: "7",
			meta.GUID: "00000000-0000-4000-8000-000000000001", meta.State: "64", meta.Blob: "AAAA",
		}[a.Kind]
		if text == "" {
			text = "another"
		}
		change := asset.Change{Name: a.Name, Set: []asset.Value{{Kind: asset.Text, Text: text}}}
		if v.try(who, &asset.Command{Verb: asset.Update, Target: asset.Ref{OID: o}, Changes: []asset.Change{change}}) == nil {
			return true
		}
	}
	return false
}

// hasPlain reports whether a type has a writable attribute with a single value that is neither a relation
// nor a rank.
func (v *validation) hasPlain(t *meta.Type) bool {
	return slices.ContainsFunc(t.Attrs, func(a *meta.Attr) bool {
		return !a.ReadOnly && !a.Multi && a.Kind != meta.Relation && a.Kind != meta.Rank && (a.Place.Kind == meta.InColumn || a.Place.Kind == meta.InAttrs)
	})
}
