package asset

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// past is what some versions of an asset have changed, compared with the versions before them.
type past struct {
	made   bool        // the first version of the asset is one of them
	hidden bool        // the caller could not see the asset at one of them, or before
	code   int         // AssetState after the last of them
	broken bool        // another version lies between them
	last   int64       // moment of the last of them
	state  pastState   // the change of AssetState
	values []pastValue // attributes with one value
	links  []pastLink  // attributes with several values
	kept   []string    // what no undo takes back
}

// pastState is a change of AssetState. was is the state before the versions, and left is the state
// after them.
type pastState struct {
	was, left int
	since     int64 // moment of the last change
	broken    bool  // the state was changed between the versions, too
}

// pastValue is the change of an attribute with one value. For a relation the values are stored ids.
type pastValue struct {
	attr      *meta.Attr
	was, left any   // before and after the versions; nil: no value
	since     int64 // moment of the last change
	broken    bool  // the value was changed between the versions, too
}

// pastLink is one value of an attribute with several values.
type pastLink struct {
	attr      *meta.Attr
	other     int64  // stored id of the linked asset
	text      string // the value of a multi-value scalar
	was, left bool   // whether the attribute had the value before and after the versions
	since, by int64  // moments: of the last change by the versions; of a change by another version, if known
	broken    bool   // the value was added or removed between the versions, too
}

// undoing is an asset and the versions of it that a command takes back.
type undoing struct {
	id      int64
	typ     *meta.Type
	moments []int64 // ascending
	linked  bool    // links or values began or ended with at least one of the versions
}

// loadPasts reads what the versions have changed. The assets are locked.
func (l *loaded) loadPasts(ctx context.Context, all []undoing) error {
	for part := range slices.Chunk(all, db.MaxIn) {
		reader := pastReader{loaded: l, of: map[int64]*undoing{}, linked: map[*meta.Type][]int64{}}
		for i := range part {
			u := &part[i]
			if l.rows[u.id] == nil { // the command fails
				continue
			}
			reader.of[u.id] = u
			l.pasts[u.id] = &past{}
			reader.ids = append(reader.ids, u.id)
			reader.widen(u.moments)
			if u.linked {
				reader.linked[u.typ] = append(reader.linked[u.typ], u.id)
			}
		}
		for _, step := range []func(context.Context) error{reader.versions, reader.texts, reader.compareAll, reader.edges, reader.roles} {
			if err := step(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// pastReader reads the pasts of some assets.
type pastReader struct {
	*loaded
	of          map[int64]*undoing
	ids         []int64
	first, to   int64 // the range of moments of the versions
	ended       []*endedVersion
	linked      map[*meta.Type][]int64
	unexplained []unexplained
}

// endedVersion is a version that is not current.
type endedVersion struct {
	id    int64
	st    *state
	attrs string // as the row stores it
}

// unexplained is a version of a member that differs from the one before in nothing that is stored with it.
type unexplained struct {
	w      *row
	moment int64
}

func (r *pastReader) widen(moments []int64) {
	if r.first == 0 || moments[0] < r.first {
		r.first = moments[0]
	}
	r.to = max(r.to, moments[len(moments)-1])
}

// versions reads the versions and the ones before them, except current versions, which are loaded
// already. It does not read texts from asset_text.
func (r *pastReader) versions(ctx context.Context) error {
	in, args := db.InArgs(r.ids)
	columns := slices.Concat(r.s.e.layout.All(), db.HashColumns(), []string{"until_moment"})
	query := `SELECT ` + strings.Join(columns, ", ") + ` FROM asset_version WHERE id IN ` + in +
		` AND (moment BETWEEN ? AND ? OR until_moment BETWEEN ? AND ?) AND until_moment < ? ORDER BY id, moment`
	err := db.Each(ctx, r.s.tx, query, append(args, r.first, r.to, r.first, r.to, db.Forever), func(scan db.Scanner) error {
		v, err := r.scanEnded(scan)
		if err != nil {
			return err
		}
		moments := r.of[v.id].moments
		if slices.Contains(moments, int64(v.st.moment)) || slices.Contains(moments, int64(v.st.until)) {
			r.ended = append(r.ended, v)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read versions to undo: %w", err)
	}
	return nil
}

// scanEnded reads a row of asset_version.
func (r *pastReader) scanEnded(scan db.Scanner) (*endedVersion, error) {
	layout := r.s.e.layout
	v := &endedVersion{st: layout.newState()}
	st := v.st
	var typ int
	var attrs any
	into := []any{
		&v.id, &typ, &st.code, &st.moment, &st.audit, &st.createdMoment, &st.createdAt, &st.createdBy, &st.changedAt, &st.changedBy,
	}
	for i := range st.Slots {
		into = append(into, &st.Slots[i])
	}
	into = append(into, &attrs)
	for i := range st.Hashes {
		into = append(into, &st.Hashes[i])
	}
	if err := scan.Scan(append(into, &st.until)...); err != nil {
		return nil, err
	}
	for i := range st.Slots {
		st.Slots[i] = value.FromColumn(layout.Slots[i].Kind, st.Slots[i])
	}
	v.attrs = textOf(attrs)
	r.bytes += st.TextSize() + int64(len(v.attrs))
	return v, r.proceed()
}

// textKey identifies a text of asset_text.
type textKey struct {
	id   int64
	hash string
}

// texts completes the versions with the texts that their rows do not contain. Usually the current
// version has the same text.
func (r *pastReader) texts(ctx context.Context) error {
	const description, attrs = 0, 1 // indexes in db.LongTexts
	needed := map[textKey]string{}
	for _, v := range r.ended {
		now := r.rows[v.id].stored
		for _, which := range [...]int{description, attrs} {
			if h := v.st.Hashes[which]; h != nil && !bytes.Equal(h, now.Hashes[which]) {
				needed[textKey{v.id, string(h)}] = ""
			}
		}
	}
	if err := r.readTexts(ctx, needed); err != nil {
		return err
	}
	slot := r.s.e.layout.Description()
	for _, v := range r.ended {
		now := r.rows[v.id].stored
		if h := v.st.Hashes[description]; h != nil && slot >= 0 {
			v.st.Slots[slot] = now.Slots[slot]
			if !bytes.Equal(h, now.Hashes[description]) {
				v.st.Slots[slot] = needed[textKey{v.id, string(h)}]
			}
		}
		h := v.st.Hashes[attrs]
		if h != nil && bytes.Equal(h, now.Hashes[attrs]) {
			v.st.Attrs = now.Attrs
			continue
		}
		if h != nil {
			v.attrs = needed[textKey{v.id, string(h)}]
		}
		var err error
		if v.st.Attrs, err = stored.Parse(v.attrs); err != nil {
			return fmt.Errorf("asset %d at moment %d: %w", v.id, v.st.moment, err)
		}
	}
	return nil
}

// readTexts reads texts of asset_text.
func (r *pastReader) readTexts(ctx context.Context, needed map[textKey]string) error {
	var ids []int64
	for key := range needed {
		ids = append(ids, key.id)
	}
	slices.Sort(ids)
	for in, args := range db.InChunks(slices.Compact(ids)) {
		err := db.Each(ctx, r.s.tx, `SELECT asset_id, hash, text FROM asset_text WHERE asset_id IN `+in, args, func(scan db.Scanner) error {
			var id int64
			var hash []byte
			var text string
			if err := scan.Scan(&id, &hash, &text); err != nil {
				return err
			}
			key := textKey{id, string(hash)}
			if _, is := needed[key]; !is {
				return nil
			}
			needed[key] = text
			r.bytes += int64(len(text))
			return r.proceed()
		})
		if err != nil {
			return fmt.Errorf("read texts to undo: %w", err)
		}
	}
	return nil
}

// proceed returns an error if the batch holds too much text.
// Errors: errSplit; fault.Invalid with ErrReach.
func (r *pastReader) proceed() error {
	switch {
	case r.several && r.bytes > maxHeld:
		return errSplit
	case r.bytes > maxHeldOfOne:
		return tooMuchHeld()
	}
	return nil
}

// compareAll compares each version with the one before it.
func (r *pastReader) compareAll(context.Context) error {
	began, until := map[versionAt]*state{}, map[versionAt]*state{}
	for _, v := range r.ended {
		began[versionAt{v.id, int64(v.st.moment)}] = v.st
		until[versionAt{v.id, int64(v.st.until)}] = v.st
	}
	for _, id := range r.ids {
		w := r.rows[id]
		for _, at := range r.of[id].moments {
			after := began[versionAt{id, at}]
			if at == int64(w.stored.moment) {
				after = w.stored
			}
			if after == nil {
				return historyGone()
			}
			if err := r.compare(r.pasts[id], w, until[versionAt{id, at}], after); err != nil {
				return err
			}
		}
	}
	return nil
}

// versionAt identifies a version by its asset and a moment.
type versionAt struct{ id, moment int64 }

// compare adds to a past what a version has changed. before is the version before it; nil if it is
// the first.
// Errors: fault.Invalid if the version before is removed.
func (r *pastReader) compare(p *past, w *row, before, after *state) error {
	at := int64(after.moment)
	p.code, p.hidden = after.code, p.hidden || !r.saw(w, after) || before != nil && !r.saw(w, before)
	if before == nil {
		if after.createdMoment != after.moment {
			return historyGone()
		}
		p.made, p.last = true, at
		return nil
	}
	p.broken = p.broken || p.last != 0 && p.last != int64(before.moment)
	p.last = at
	if p.made {
		return nil
	}
	changed := r.of[w.id].linked
	if before.code != after.code {
		p.state.add(before.code, after.code, at)
		changed = true
	}
	for _, a := range r.s.e.layout.types[w.typ].restored {
		if was, now := before.Get(a), after.Get(a); was != now {
			p.add(a, was, now, at)
			changed = true
		}
	}
	if !changed && w.typ == r.s.e.layout.member {
		r.unexplained = append(r.unexplained, unexplained{w, at})
	}
	return nil
}

// saw reports whether the caller could see a version of an asset with its current rights. Of types with a
// rule (meta.Type.Seen), the caller saw at least its own versions.
func (r *pastReader) saw(w *row, st *state) bool {
	who := &r.s.who
	switch {
	case who.All:
		return true
	case w.typ == r.s.e.layout.member && who.AllMembers():
		return true
	case !w.typ.Seen.IsZero():
		return st.changedBy == who.Member
	}
	scope, ok := st.ref(r.s.e.layout.scope)
	return !ok || (&rules{unit{s: r.s, loaded: r.loaded}}).seesScope(&scope)
}

func historyGone() error {
	return &fault.Error{Kind: fault.Invalid, Msg: "The history of a write to undo is removed", At: fault.NoPlace, Err: ErrReach}
}

func (s *pastState) add(was, now int, at int64) {
	if s.since == 0 {
		s.was, s.left = was, was
	}
	s.broken = s.broken || s.left != was
	s.left, s.since = now, at
}

// add adds a change of an attribute with one value.
func (p *past) add(a *meta.Attr, was, now any, at int64) {
	i := slices.IndexFunc(p.values, func(v pastValue) bool { return v.attr == a })
	if i < 0 {
		i = len(p.values)
		p.values = append(p.values, pastValue{attr: a, was: was, left: was})
	}
	v := &p.values[i]
	v.broken = v.broken || v.left != was
	v.left, v.since = now, at
}

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
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.at, b.at), compareBools(a.began, b.began))
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

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
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

func (p *past) keep(what string) {
	if !slices.Contains(p.kept, what) {
		p.kept = append(p.kept, what)
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

// loadPasts reads what the Undo commands take back, and adds the data that they need.
func (p *prefetch) loadPasts(ctx context.Context, l *loaded) error {
	if err := l.loadPasts(ctx, p.undone); err != nil {
		return err
	}
	p.collectPasts(l)
	return l.foreseeTargets(ctx, p.undone)
}

// foreseeTargets calls loadSeen for the assets of Undo commands whose types have a rule.
func (l *loaded) foreseeTargets(ctx context.Context, all []undoing) error {
	var ruled ruledAssets
	for _, u := range all {
		if w := l.rows[u.id]; w != nil && !w.typ.Seen.IsZero() {
			ruled.add(u.id, w.typ)
		}
	}
	if l.s.who.All || len(ruled.ids) == 0 {
		return nil
	}
	slices.Sort(ruled.ids)
	return l.loadSeen(ctx, ruled.types, ruled.ids)
}

// collectPasts adds the assets to which the pasts refer, and the other data that the commands need.
func (p *prefetch) collectPasts(l *loaded) {
	for _, u := range p.undone {
		past := l.pasts[u.id]
		if past == nil {
			continue
		}
		if past.made || past.state.was == meta.StateDeleted {
			p.owners = append(p.owners, u.id)
		}
		if past.state.left == meta.StateDeleted {
			p.deleted = append(p.deleted, u.id)
		}
		for _, v := range past.values {
			if v.attr.Place.Kind == meta.InLinks {
				p.addEdges(edgeCode(v.attr), u.typ, u.id)
			}
			if p.layout.hasDependents(u.typ, v.attr) {
				p.sources = append(p.sources, u.id)
			}
			if v.attr.Kind != meta.Relation {
				continue
			}
			for _, id := range [...]any{v.was, v.left} {
				if id != nil {
					p.addReference(id.(int64), p.layout.follows(u.typ, v.attr))
				}
			}
		}
		for _, link := range past.links {
			switch link.attr.Place.Kind {
			case meta.InLinksBack:
				p.addReference(link.other, true)
				p.reverseLinks[link.attr.Place.Code] = append(p.reverseLinks[link.attr.Place.Code], link.other)
			case meta.InLinks:
				p.addReference(link.other, p.layout.follows(u.typ, link.attr))
				p.addEdges(edgeCode(link.attr), u.typ, u.id)
			default:
				p.addEdges(edgeCode(link.attr), u.typ, u.id)
			}
		}
	}
}
