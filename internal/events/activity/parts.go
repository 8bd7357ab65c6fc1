package activity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// The relations from a whole (an asset with parts) to its parts. The assets in a project are found
// by their SecurityScope instead.
var (
	partsByColumn = []string{"Children", "Subs"}
	partsByLink   = []string{"Notes", "Links", "Attachments", "EmbeddedImages", "Actuals", "BuildRuns"}
)

// slots are indexes of columns in Version.Columns. The value -1 means that there is no such column.
type slots struct{ scope, parent int }

// whole describes the streams of the assets of one type. If id is set, it describes the stream of
// one asset.
type whole struct {
	t         *meta.Type
	project   bool       // true: all assets in the project belong to its stream
	columns   []column   // columns by which parts refer to the whole
	links     []int      // codes of relations by which parts refer to the whole
	relations []relation // many-to-many relations
	parts     bool       // true: the whole has parts, and is not a project
	slots     slots

	id int64 // stored id of the asset of the stream
}

// column is a column by which a part refers to its whole.
type column struct {
	name string
	slot int
}

// key returns a hint that makes the server read versions by the column, in the order of their
// moments. Without the hint, MariaDB would read all versions by moment if the versions of a whole
// are close in time, for example after an import.
func (c column) key(d *db.Dialect) string {
	return d.By("asset_version_of_" + strings.TrimSuffix(c.name, "_id"))
}

// relation describes the many-to-many relations in which an asset is at one end. codes has their
// codes.
type relation struct {
	mine, other string // columns of asset_link with the asset, and with the asset at the other end
	ofType      string // SQL condition for the type of the asset; empty if the asset is at the end to_id
	codes       []int
}

// relationsOf returns the many-to-many relations of a type, separately for each end.
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

// manyToMany reports whether both ends of a relation have several values. A change of such a
// relation creates a version only of the asset that the command named.
func manyToMany(a *meta.Attr) bool {
	return a.Multi && (a.Place.Kind == meta.InLinks || a.Place.Kind == meta.InLinksBack && a.Back != nil && a.Back.Multi)
}

// wholesOf returns, by concrete type, the description of the streams of its assets.
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

// leadsBack reports whether the opposite relation of a, which is a.Back, may refer to assets of
// type t.
func leadsBack(a *meta.Attr, t *meta.Type) bool {
	return slices.ContainsFunc(a.Related.Concrete, func(part *meta.Type) bool {
		up, ok := part.Attr(a.Back.Name)
		return ok && up.Takes(t)
	})
}

// has reports whether a version refers to the whole by one of the columns.
func (w *whole) has(v *change.Version) bool {
	return slices.ContainsFunc(w.columns, func(c column) bool { return v.Columns[c.slot] == w.id })
}

// codes returns numbers from the model as a comma-separated list for SQL.
func codes(of []int) string {
	all := make([]string, len(of))
	for i, c := range of {
		all[i] = strconv.Itoa(c)
	}
	return strings.Join(all, ",")
}
