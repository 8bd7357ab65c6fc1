package activity

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/store/db"
)

// how describes why a change belongs to a stream.
type how int

const (
	inColumn how = iota // a change of the asset itself, or of a part that refers to the asset by a column
	byLink              // a change of a part that refers to the asset by a relation
	linked              // the change in which the part got this relation
	unlinked            // the change in which the part lost this relation
	far                 // a change of another asset that began or ended a many-to-many relation to the asset
)

// SQL expressions for the column how of a change. The value of howLink is byLink, linked or unlinked, and the
// value of howFar is far.
const (
	howLink = "CASE v.moment WHEN l.since_moment THEN 2 WHEN l.until_moment THEN 3 ELSE 1 END"
	howFar  = "4"
)

// found is a change with the version that it made. If the field how has the value far, the asset
// itself has no version at that moment, and the field now has the version of the other asset.
type found struct {
	change.At
	how   how
	now   change.Version
	was   *change.Version // the previous version; nil: there is no previous version
	audit *audit          // nil: the write is not stored
}

// audit is the write that made a change. at is its time in UTC microseconds.
type audit struct {
	actor, at         int64
	request           string
	application, tool string // by which means the actor has written; empty: unknown
}

// Limits of the search for changes.
const (
	// maxLinked is the maximum number of relations that are followed. It applies to the relations
	// of parts, and separately to many-to-many relations from each end.
	maxLinked = 5000
	// maxLeft is the maximum number of versions of parts in which withLeft looks for assets that
	// have left the whole. It looks in the latest of these versions.
	maxLeft = 4000
)

// spare is the number of additional changes that are read beyond the requested number. The changes
// of one moment are read together, and a change that is found twice counts once.
const spare = 4

// find returns the next n changes of the stream in a window, and whether there may be more. It
// never separates the changes of one moment, because one write of a relation may change two assets.
func (x *reader) find(ctx context.Context, in window, n int) (list []found, more bool, err error) {
	if in.from > in.to {
		return nil, false, nil
	}
	for most := n + spare; ; most *= 2 {
		query, args := x.root.statement(x.tx.Dialect(), x.ask.forward, in, most)
		if list, err = x.collect(ctx, query, args); err != nil {
			return nil, false, err
		}
		if more = len(list) == most; !more {
			break
		}
		last := list[most-1].Moment // more changes may have this moment
		if list = slices.DeleteFunc(list, func(f found) bool { return f.Moment == last }); len(list) > 0 {
			break
		}
	}
	if more { // withLeft must not read beyond the last change of list
		if last := list[len(list)-1].Moment; x.ask.forward {
			in.to = last
		} else {
			in.from = last
		}
	}
	if len(x.root.columns) > 0 {
		var cut bool
		if list, cut, err = x.withLeft(ctx, list, in, n+spare); err != nil {
			return nil, false, err
		}
		more = more || cut
	}
	list = inOrder(list, x.ask.forward)
	end := together(list, n)
	return list[:end], more || end < len(list), x.before(ctx, list, end)
}

// withLeft adds changes by which assets left the whole (the asset of the stream). It reads the
// nearest of these changes. The parameter most is their maximum number. If there may be more, cut
// is true, and the result ends before the last moment that was read. If the result would be empty,
// withLeft reads more.
func (x *reader) withLeft(ctx context.Context, list []found, in window, most int) (all []found, cut bool, err error) {
	for ; ; most *= 2 {
		query, args := x.root.left(x.tx.Dialect(), x.ask.forward, in, most)
		gone, err := x.collect(ctx, query, args)
		if err != nil {
			return nil, false, err
		}
		if len(gone) < most {
			return append(list, gone...), false, nil
		}
		last := gone[most-1].Moment // more changes may have this moment
		all = slices.DeleteFunc(append(slices.Clip(list), gone...), func(f found) bool {
			return f.Moment == last || (f.Moment > last) == x.ask.forward
		})
		if len(all) > 0 {
			return all, true, nil
		}
	}
}

// together returns n, plus the number of later changes with the same moment as the nth change.
func together(list []found, n int) int {
	for n > 0 && n < len(list) && list[n].Moment == list[n-1].Moment {
		n++
	}
	return min(n, len(list))
}

// collect runs a statement that finds places, and reads their versions and writes. A place is an
// asset, a moment, a value of the type how, and the asset that has a version at that moment.
func (x *reader) collect(ctx context.Context, places string, args []any) ([]found, error) {
	query := "SELECT k.id, k.how, u.actor_id, u.at, u.request_id, COALESCE(u.application, ''), COALESCE(u.tool, ''), " + x.loader.Columns + " FROM (" + places +
		") k JOIN asset_version v ON v.id = k.version_id AND v.moment = k.moment LEFT JOIN audit u ON u.id = v.audit_id ORDER BY v.moment"
	if !x.ask.forward {
		query += " DESC"
	}
	var of found
	var actor, at sql.NullInt64
	var request sql.NullString
	var application, tool string
	rows := x.loader.Rows(&of.ID, &of.how, &actor, &at, &request, &application, &tool)
	return db.Collect(ctx, x.tx, query, args, func(row db.Scanner) (f found, err error) {
		now, err := rows.Scan(row)
		if err != nil {
			return f, err
		}
		if f = of; actor.Valid {
			f.audit = &audit{actor.Int64, at.Int64, request.String, application, tool}
		}
		f.now, f.Moment = now, now.Moment
		return f, x.take(now.Size())
	})
}

// inOrder sorts changes and removes duplicates.
func inOrder(list []found, forward bool) []found {
	slices.SortFunc(list, func(a, b found) int {
		c := cmp.Or(cmp.Compare(a.Moment, b.Moment), cmp.Compare(a.ID, b.ID))
		if !forward {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.how, b.how))
	})
	return slices.CompactFunc(list, func(a, b found) bool { return a.ID == b.ID && a.Moment == b.Moment })
}

// nearest returns the end of a statement that reads only the nearest places in the direction of the
// request.
func nearest(forward bool) string {
	if forward {
		return " ORDER BY 2 LIMIT ?"
	}
	return " ORDER BY 2 DESC LIMIT ?"
}

// statement returns the statement that finds the n nearest changes of each kind. There are three
// kinds: changes of the asset itself, changes of its parts (by columns and by relations), and
// changes of its relations by other assets.
func (w *whole) statement(d *db.Dialect, forward bool, in window, n int) (query string, args []any) {
	order := nearest(forward)
	var all []string
	add := func(branch string, of ...any) {
		all = append(all, "SELECT * FROM ("+branch+order+") b"+string(rune('0'+len(all))))
		args = append(append(args, of...), n)
	}
	const columns = "SELECT v.id, v.moment, 0 AS how, v.id AS version_id FROM asset_version v"
	if !w.project {
		add(columns+" WHERE v.id = ? AND v.moment BETWEEN ? AND ?", w.id, in.from, in.to)
	}
	for _, c := range w.columns {
		add(columns+c.key(d)+" WHERE v."+c.name+" = ? AND v.moment BETWEEN ? AND ?", w.id, in.from, in.to)
	}
	if len(w.links) > 0 {
		add("SELECT v.id, v.moment, "+howLink+" AS how, v.id AS version_id FROM (SELECT from_id, since_moment, until_moment FROM asset_link WHERE relation IN ("+
			codes(w.links)+") AND to_id = ? LIMIT ?) l JOIN asset_version v ON v.id = l.from_id AND v.moment >= l.since_moment AND v.moment <= l.until_moment"+
			" WHERE v.moment BETWEEN ? AND ?", w.id, maxLinked, in.from, in.to)
	}
	for _, r := range w.relations {
		for _, end := range []string{"since_moment", "until_moment"} {
			add("SELECT l.mine AS id, v.moment, "+howFar+" AS how, v.id AS version_id FROM (SELECT "+r.mine+" AS mine, "+r.other+" AS other, "+end+" AS moment FROM asset_link WHERE relation IN ("+
				codes(r.codes)+")"+r.ofType+" AND "+r.mine+" = ? LIMIT ?) l JOIN asset_version v ON v.id = l.other AND v.moment = l.moment"+
				" WHERE v.moment BETWEEN ? AND ?", w.id, maxLinked, in.from, in.to)
		}
	}
	return strings.Join(all, " UNION ALL ") + order, append(args, n)
}

// left returns the statement that finds the changes in a window by which assets left the whole. It
// reads the nearest changes for each column, and then takes the nearest of all these changes.
func (w *whole) left(d *db.Dialect, forward bool, in window, most int) (query string, args []any) {
	order := nearest(forward)
	all := make([]string, len(w.columns))
	for i, c := range w.columns {
		all[i] = "SELECT * FROM (SELECT n.id, n.moment, 0 AS how, n.id AS version_id FROM (SELECT v.id, v.moment, v.until_moment FROM asset_version v" + c.key(d) + " WHERE v." + c.name +
			" = ? AND v.moment <= ? ORDER BY v.moment DESC LIMIT ?) k JOIN asset_version n ON n.id = k.id AND n.moment = k.until_moment" +
			" WHERE k.until_moment BETWEEN ? AND ? AND (n." + c.name + " IS NULL OR n." + c.name + " <> ?)" + order + ") b" + strconv.Itoa(i)
		args = append(args, w.id, in.to, maxLeft, in.from, in.to, w.id, most)
	}
	return strings.Join(all, " UNION ALL ") + order, append(args, most)
}

// maxBefore is the maximum number of changes whose previous versions one statement finds.
const maxBefore = 64

// before sets the previous versions of the first n changes. It takes a previous version from the
// list, or finds it with one lookup in the primary key. A join would read all versions of each
// asset.
func (x *reader) before(ctx context.Context, list []found, n int) error {
	at := make(map[change.At]*change.Version, len(list))
	for i := range list {
		if f := &list[i]; f.how != far {
			at[change.At{ID: f.ID, Moment: f.now.Until}] = &f.now
		}
	}
	var missing []*found
	for i := range n {
		f := &list[i]
		switch was := at[f.At]; {
		case was != nil:
			f.was = was
		case f.how == far || f.now.Created != f.Moment:
			missing = append(missing, f)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	places := make([]change.At, 0, len(missing))
	for some := range slices.Chunk(missing, maxBefore) {
		these, err := placesBefore(ctx, x.tx, some)
		if err != nil {
			return err
		}
		places = append(places, these...)
	}
	versions, err := x.loader.VersionsAt(ctx, x.tx, places, x.take)
	for i := range versions {
		missing[i].was = &versions[i]
	}
	return err
}

// placesBefore returns the previous version of each change. Each change must have a previous
// version.
func placesBefore(ctx context.Context, q db.Querier, some []*found) ([]change.At, error) {
	const one = "(SELECT MAX(moment) FROM asset_version WHERE id = ? AND moment < ?)"
	n := db.InSize(len(some))
	args, into := make([]any, 0, 2*n), make([]any, n)
	was := make([]int64, n)
	for i := range n {
		f := some[min(i, len(some)-1)]
		args, into[i] = append(args, f.ID, f.Moment), &was[i]
	}
	err := q.QueryRow(ctx, "SELECT "+one+strings.Repeat(", "+one, n-1), args...).Scan(into...)
	places := make([]change.At, len(some))
	for i, f := range some {
		places[i] = change.At{ID: f.ID, Moment: was[i]}
	}
	return places, err
}
