package asset

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// pastEdge is a row of asset_link or asset_value that a version has begun or ended.
type pastEdge struct {
	attr  *meta.Attr
	id    int64 // the asset of the version
	other int64
	text  string
	at    int64 // moment of the version
	began bool
}

// edges reads which links and values the versions have begun and ended.
func (r *pastReader) edges(ctx context.Context) error {
	var all []pastEdge
	for t, ids := range r.linked {
		slices.Sort(ids)
		found, err := r.edgesOf(ctx, t, slices.Compact(ids))
		if err != nil {
			return fmt.Errorf("read links to undo: %w", err)
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b pastEdge) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.at, b.at))
	})
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n].id == all[i].id && all[n].at == all[i].at {
			n++
		}
		r.addEdges(r.pasts[all[i].id], all[i:n])
		i = n
	}
	return nil
}

// addEdges adds the links and values of one version to a past.
func (r *pastReader) addEdges(p *past, all []pastEdge) {
	single := map[*meta.Attr][2]any{} // the targets before and after the version
	for _, e := range all {
		l := r.s.e.layout
		switch {
		case e.attr == l.defaultRole || l.isMembers(e.attr.Place.Code) && e.attr.Place.Kind != meta.InValues:
			p.keep(KeptRoles)
		case e.attr.Multi:
			p.addLink(e)
		default:
			s := single[e.attr]
			if e.began {
				s[1] = e.other
			} else {
				s[0] = e.other
			}
			single[e.attr] = s
		}
	}
	for _, e := range all {
		if s, ok := single[e.attr]; ok {
			p.add(e.attr, s[0], s[1], e.at)
			delete(single, e.attr)
		}
	}
}

// addLink adds a value that a version has added to an attribute or removed from it.
func (p *past) addLink(e pastEdge) {
	i := slices.IndexFunc(p.links, func(l pastLink) bool {
		return l.attr == e.attr && l.other == e.other && l.text == e.text
	})
	if i < 0 {
		i = len(p.links)
		p.links = append(p.links, pastLink{attr: e.attr, other: e.other, text: e.text, was: !e.began, left: !e.began})
	}
	l := &p.links[i]
	l.broken = l.broken || l.left == e.began
	l.left, l.since = e.began, e.at
}

// edgesOf reads the links and values that the versions of some assets of a type have begun and ended.
func (r *pastReader) edgesOf(ctx context.Context, t *meta.Type, ids []int64) (all []pastEdge, err error) {
	in, args := db.InArgs(ids)
	args = append(args, r.first, r.to, r.first, r.to)
	tr := r.s.e.layout.types[t]
	own := ` AND from_type = ` + strconv.Itoa(t.Code) + ` AND from_id IN ` + in
	for _, from := range []struct {
		attrs        map[int]*meta.Attr
		query, where string
	}{
		{tr.forward, `SELECT relation, from_id, to_id, NULL, since_moment, until_moment FROM asset_link WHERE relation IN `, own},
		{tr.back, `SELECT relation, to_id, from_id, NULL, since_moment, until_moment FROM asset_link WHERE relation IN `, ` AND to_id IN ` + in},
		{tr.several, `SELECT attribute, from_id, 0, value, since_moment, until_moment FROM asset_value WHERE attribute IN `, own},
	} {
		if len(from.attrs) == 0 {
			continue
		}
		query := from.query + codeList(from.attrs) + from.where + ` AND (since_moment BETWEEN ? AND ? OR until_moment BETWEEN ? AND ?)`
		err := db.Each(ctx, r.s.tx, query, args, func(scan db.Scanner) error {
			var code int
			var text sql.NullString
			var e pastEdge
			var since, until int64
			if err := scan.Scan(&code, &e.id, &e.other, &text, &since, &until); err != nil {
				return err
			}
			e.attr, e.text = from.attrs[code], text.String
			for _, end := range []struct {
				at    int64
				began bool
			}{{since, true}, {until, false}} {
				if slices.Contains(r.of[e.id].moments, end.at) {
					e.at, e.began = end.at, end.began
					all = append(all, e)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// codeList returns the keys of a map as a list for SQL. The keys come from the model.
func codeList(of map[int]*meta.Attr) string {
	all := make([]string, 0, len(of))
	for code := range of {
		all = append(all, strconv.Itoa(code))
	}
	slices.Sort(all)
	return "(" + strings.Join(all, ", ") + ")"
}

// roles finds out which versions have changed roles. A version of a member that differs from the one before
// in nothing that is stored with it, and that has changed no role, has set the password.
func (r *pastReader) roles(ctx context.Context) error {
	changed := map[versionAt]bool{}
	for _, kind := range []struct {
		column string
		is     func(t *meta.Type) bool
	}{
		{"scope_id", func(t *meta.Type) bool { return t.Secured.Self }},
		{"member_id", func(t *meta.Type) bool { return t == r.s.e.layout.member }},
	} {
		var ids []int64
		for _, id := range r.ids {
			if kind.is(r.of[id].typ) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		in, args := db.InArgs(ids)
		query := `SELECT ` + kind.column + `, since_moment, until_moment FROM scope_member WHERE ` + kind.column + ` IN ` + in +
			` AND (since_moment BETWEEN ? AND ? OR until_moment BETWEEN ? AND ?)`
		err := db.Each(ctx, r.s.tx, query, append(args, r.first, r.to, r.first, r.to), func(scan db.Scanner) error {
			var id, since, until int64
			err := scan.Scan(&id, &since, &until)
			changed[versionAt{id, since}], changed[versionAt{id, until}] = true, true
			return err
		})
		if err != nil {
			return fmt.Errorf("read roles: %w", err)
		}
	}
	for _, id := range r.ids {
		for _, at := range r.of[id].moments {
			if changed[versionAt{id, at}] {
				r.pasts[id].keep(KeptRoles)
			}
		}
	}
	for _, u := range r.unexplained {
		if !changed[versionAt{u.w.id, u.moment}] {
			r.pasts[u.w.id].keep(KeptLogin)
		}
	}
	return nil
}
