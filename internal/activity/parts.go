package activity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// The relations that lead from a whole to its parts. What lies in a project is found
// by its SecurityScope.
var (
	partsByColumn = []string{"Children", "Subs"}
	partsByLink   = []string{"Notes", "Links", "Attachments", "EmbeddedImages", "Actuals", "BuildRuns"}
)

// slots are the places of columns in a version; -1 for none.
type slots struct{ scope, parent int }

// whole is what the streams of the assets of one type are made of. With an id it is
// that of one asset.
type whole struct {
	t         *meta.Type
	project   bool       // everything that lies in it belongs to its stream
	columns   []column   // of parts that name the whole in a column
	links     []int      // codes of relations by which parts name it
	relations []relation // between many and many
	parts     bool       // it has parts, which are not simply what lies in it
	slots     slots

	id int64 // stored
}

// column is a column that names the whole of a part.
type column struct {
	name string
	slot int
}

// key is what makes a server read versions by the column, in the order of their moments.
// Where the versions of one whole lie together in time, as after an import, MariaDB takes
// all versions by their moments for the shorter way.
func (c column) key(d *db.Dialect) string {
	return d.By("asset_version_of_" + strings.TrimSuffix(c.name, "_id"))
}

// relation is relations between many and many that an asset has at one of their ends,
// as the other end sees them in asset_link.
type relation struct {
	mine, other string // columns
	ofType      string // a condition on the type of the holder
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

// manyToMany reports whether both ends of a relation have several values, so that a
// change makes a version of the end that the command named.
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

// leadsBack reports whether some asset may name a t by the relation on the other side
// of a.
func leadsBack(a *meta.Attr, t *meta.Type) bool {
	return slices.ContainsFunc(a.Related.Concrete, func(part *meta.Type) bool {
		up, ok := part.Attr(a.Back.Name)
		return ok && up.Takes(t)
	})
}

// has reports whether a version lies in the whole by a column.
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
