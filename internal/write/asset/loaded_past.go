package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
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
	since     int64  // moment of the last change by the versions
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

// saw reports whether the caller could see a version of an asset with its current rights. If more than the
// project of the version decides (meta.Type.Seen), it is true only for the caller's own versions, and
// not if an access token limits what the caller reads.
func (r *pastReader) saw(w *row, st *state) bool {
	who := &r.s.who
	switch {
	case who.All:
		return true
	case !who.Bounds.Reads(w.typ):
		return false
	case w.typ == r.s.e.layout.member && who.AllMembers():
		return true
	}
	scope, ok := st.ref(r.s.e.layout.scope)
	if seen := &w.typ.Seen; seen.Shared || !ok && !seen.IsZero() || len(seen.Only) > 0 && isPersonal(w.typ, st) {
		return st.changedBy == who.Member && !who.Bounds.LimitsReading()
	}
	return !ok || (&rules{unit{s: r.s, loaded: r.loaded}}).seesScope(&scope)
}

// isPersonal reports whether only some members see a version of an asset. Types without the attribute Personal
// are always personal.
func isPersonal(t *meta.Type, st *state) bool {
	flag, ok := t.Attr("Personal")
	return !ok || value.OrUnset(flag, st.Get(flag)) == true
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

func (p *past) keep(what string) {
	if !slices.Contains(p.kept, what) {
		p.kept = append(p.kept, what)
	}
}
