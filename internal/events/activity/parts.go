package activity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// The relations from a whole to its parts. Assets in a project are found by their
// SecurityScope.
var (
	partsByColumn = []string{"Children", "Subs"}
	partsByLink   = []string{"Notes", "Links", "Attachments", "EmbeddedImages", "Actuals", "BuildRuns"}
)

// slots are the indexes of columns in a version; -1 for none.
type slots struct{ scope, parent int }

// whole describes the streams of the assets of one type. With an id it describes the stream of one
// asset.
type whole struct {
	t         *meta.Type
	project   bool       // all assets in the project belong to its stream
	columns   []column   // columns by which parts refer to the whole
	links     []int      // codes of relations by which parts refer to the whole
	relations []relation // many-to-many relations
	parts     bool       // the whole has parts other than the assets in a project
	slots     slots

	id int64 // stored id of the whole
}

// column is a column by which a part refers to its whole.
type column struct {
	name string
	slot int
}

// key returns the hint that makes a server read versions by the column, in the order of their
// moments. If the versions of a whole are close in time, as after an import, MariaDB would
// read all versions by moment.
func (c column) key(d *db.Dialect) string {
	return d.By("asset_version_of_" + strings.TrimSuffix(c.name, "_id"))
}

// relation has the codes of the many-to-many relations that an asset has from one end, and the
// columns of asset_link with both ends.
type relation struct {
	mine, other string // columns with the asset, and with the asset at the other end
	ofType      string // a condition on the type of the asset that has the relation
	codes       []int
}

// relationsOf returns the relations of a type from each end.
func relationsOf(t *meta.Type) []relation {
	forward := relation{mine: "from_id", other: "to_id", ofType: " AND from_type = " + strconv.Itoa(t.Code)}
	back := relation{mine: "to_id", other: "from_id"}
	for _, a := range t.Attrs {
		if !manyToMany(a) {
			continue
		}
		if a.Place.Kind == meta.InLinks {
			forward.codes = append(forward.codes, a.Place.Code)
		} else {
			back.codes = append(back.codes, a.Place.Code)
		}
	}
	return slices.DeleteFunc([]relation{forward, back}, func(r relation) bool { return len(r.codes) == 0 })
}

// manyToMany reports whether both ends of a relation have several values. Then a change makes
// a version only of the end that the command named.
func manyToMany(a *meta.Attr) bool {
	return a.Multi && (a.Place.Kind == meta.InLinks || a.Place.Kind == meta.InLinksBack && a.Back != nil && a.Back.Multi)
}

// wholesOf returns the streams of all concrete types.
func wholesOf(m *meta.Model) map[*meta.Type]*whole {
	all := map[*meta.Type]*whole{}
	for _, t := range m.Types {
		if !t.Abstract {
			all[t] = wholeOf(m, t)
		}
	}
	return all
}

func wholeOf(m *meta.Model, t *meta.Type) *whole {
	w := &whole{t: t, relations: relationsOf(t), slots: slots{scope: slotOf(m, "scope_id"), parent: slotOf(m, "parent_id")}}
	if t.Secured.Self {
		w.project, w.columns = true, []column{{"scope_id", w.slots.scope}}
	}
	for _, a := range t.Attrs {
		switch {
		case a.Back == nil || !a.Multi:
		case !w.project && a.Place.Kind == meta.Reverse && slices.Contains(partsByColumn, a.Name):
			if leadsBack(a, t) {
				w.columns = append(w.columns, column{a.Back.Place.Column, a.Back.Place.Slot})
			}
		case !w.project && a.Place.Kind == meta.InLinksBack && !a.Back.Multi && slices.Contains(partsByLink, a.Name):
			w.links = append(w.links, a.Place.Code)
		}
	}
	w.parts = !w.project && len(w.columns)+len(w.links) > 0
	return w
}

func slotOf(m *meta.Model, column string) int {
	return slices.IndexFunc(m.Columns, func(c meta.Column) bool { return c.Name == column })
}

// leadsBack reports whether the relation at the other end of a may refer to assets of type t.
func leadsBack(a *meta.Attr, t *meta.Type) bool {
	return slices.ContainsFunc(a.Related.Concrete, func(part *meta.Type) bool {
		up, ok := part.Attr(a.Back.Name)
		return ok && up.Takes(t)
	})
}

// has reports whether a column of a version refers to the whole.
func (w *whole) has(v *change.Version) bool {
	return slices.ContainsFunc(w.columns, func(c column) bool { return v.Columns[c.slot] == w.id })
}

// codes lists numbers of the model for a statement.
func codes(of []int) string {
	all := make([]string, len(of))
	for i, c := range of {
		all[i] = strconv.Itoa(c)
	}
	return strings.Join(all, ",")
}
