package asset

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// unit is the unit of work of a batch: what it has read, and what it changes.
type unit struct {
	s       *Session
	loaded  *loaded
	changes *changes
}

// changes is what a batch changes, held in memory until it is written. Each
// command begins at a savepoint; commit makes what it did final, rollback
// undoes it.
type changes struct {
	s      *Session
	loaded *loaded

	start   savepoint         // of the current command
	touched []*row            // that the current command changes
	holders []*row            // those of touched that hold a relation which the command writes from its other end
	asked   []role            // roles that the current command is to give, given already or not
	ended   map[endedEdge]int // edges that the current command has ended: where in edges
	counts  *Affected         // what the current command counts to; nil: nothing
	undone  int               // of these, how many go on after all; their place in edges is empty

	edges       []edgeChange // begun and ended, in order
	logins      []login
	contents    []content
	roles       []role
	newScopes   []*row
	movedScopes []*row                       // projects that got another parent
	affected    map[*Affected]map[int64]bool // ids of the assets that commands have changed
	beside      int                          // assets changed beside those that commands name
	bytes       int64                        // of the texts of versions

	moments  int64
	numbers  map[*meta.Type]int64
	ranks    map[string]int64 // by sequence
	made     []*row
	changed  []*row
	versions []*version
	closings []closing
	closure  []ancestry // of new projects
}

func newChanges(s *Session, l *loaded) *changes {
	return &changes{s: s, loaded: l, numbers: map[*meta.Type]int64{}, affected: map[*Affected]map[int64]bool{}, ranks: map[string]int64{}}
}

// savepoint is how long the lists of changes were when a command began.
type savepoint struct{ edges, logins, contents, roles, newScopes, movedScopes int }

// edgeChange is an edge that a command began, in set, or ended, where set is nil.
type edgeChange struct {
	edge  *edge
	set   *edgeSet
	owner *row // whose version records the change
}

// endedEdge is an edge that the current command has ended, and for whom.
type endedEdge struct {
	from  int64
	end   string // the text as it is written, which a value of the same meaning may not have
	code  int
	to    int64
	owner *row
}

func endedBy(e *edge, owner *row) endedEdge { return endedEdge{e.from, e.text, e.code, e.to, owner} }

// closing ends the version that was current before the batch.
type closing struct {
	row   *row
	until int64
}

// login is a username or password to be set.
type login struct {
	member             int64
	typ                string
	username, password *string
}

// role is a row of scope_member to be written, or to be ended.
type role struct {
	scope, member, role int64
	owner               bool
	since               int64 // negative until the batch is written
	end                 bool  // ends the current row instead
	by                  *row  // whose version records the change
}

func (o *role) gives(want role) bool { return !o.end && o.role == want.role && o.owner == want.owner }

// begin sets the savepoint of a command.
func (c *changes) begin() {
	c.touched, c.holders, c.asked, c.undone = c.touched[:0], c.holders[:0], c.asked[:0], 0
	clear(c.ended)
	c.start = savepoint{len(c.edges), len(c.logins), len(c.contents), len(c.roles), len(c.newScopes), len(c.movedScopes)}
}

// rollback undoes what the current command did.
func (c *changes) rollback() {
	c.compact()
	for _, ch := range slices.Backward(c.edges[c.start.edges:]) {
		if ch.set != nil {
			ch.set.remove(ch.edge)
		} else {
			ch.edge.ended = false
			if set := c.loaded.edgeSets[ch.edge.from]; set != nil {
				set.goesOn(ch.edge)
			}
		}
	}
	for _, w := range c.touched {
		if w.creating() {
			delete(c.loaded.rows, w.id)
			delete(c.loaded.edgeSets, w.id)
			continue
		}
		w.cur, w.before, w.dirty, w.links, w.holds = w.before, nil, false, 0, false
	}
	c.edges, c.logins, c.roles = c.edges[:c.start.edges], c.logins[:c.start.logins], c.roles[:c.start.roles]
	c.contents = c.contents[:c.start.contents]
	c.newScopes, c.movedScopes = c.newScopes[:c.start.newScopes], c.movedScopes[:c.start.movedScopes]
	c.touched = c.touched[:0]
}

// commit makes what the current command did final: one version, with a moment
// of its own, for each asset that it made or altered.
func (c *changes) commit() {
	for _, w := range c.touched {
		if w.dirty && !w.forced && !w.creating() && w.cur.same(w.before) {
			w.dirty = false // changed there and back
		}
		w.holds = false
		if !w.dirty && w.links == 0 {
			w.cur, w.before = w.before, nil
			continue
		}
		c.addVersion(w)
		if c.counts != nil && !c.counts.written[w.id] {
			c.affected[c.counts] = with(c.affected[c.counts], w.id)
		}
		w.before, w.dirty = nil, false
	}
	c.dateChanges()
	for _, w := range c.touched {
		w.links = 0
	}
	c.beside += max(len(c.touched)-1, 0)
	c.touched = c.touched[:0]
}

// addVersion gives the row's new state a moment and closes the one before.
func (c *changes) addVersion(w *row) {
	c.moments++
	st := w.cur
	st.moment, st.linked, st.until = -c.moments, w.links > 0, db.Forever
	st.changedAt, st.changedBy, st.audit = batchTime, c.s.who.Member, c.s.audit
	switch {
	case w.latest != nil:
		w.latest.until = st.moment
	case w.isNew:
		st.createdMoment, st.createdAt, st.createdBy = st.moment, batchTime, c.s.who.Member
		w.imported.applyTo(st)
		c.addNumber(w)
		c.made = append(c.made, w)
	default:
		c.closings = append(c.closings, closing{w, st.moment})
		c.changed = append(c.changed, w)
	}
	c.bytes += st.textSize()
	w.latest = &version{row: w, state: st}
	c.versions = append(c.versions, w.latest)
}

// addNumber reserves the Number and the rank of a new asset.
func (c *changes) addNumber(w *row) {
	tr := c.s.e.layout.types[w.typ]
	if tr.number >= 0 {
		w.cur.slots[tr.number] = numbered{w.typ, c.numbers[w.typ]}
		c.numbers[w.typ]++
	}
	if tr.order >= 0 && w.cur.slots[tr.order] == nil {
		w.cur.slots[tr.order] = c.nextRank(w.typ)
	}
}

// nextRank reserves a rank after all others of a type's rank space.
func (c *changes) nextRank(t *meta.Type) ranked {
	sequence := rankSequence(t)
	c.ranks[sequence]++
	return ranked{sequence, c.ranks[sequence]}
}

// dateChanges gives the edges, roles and projects of the current command the
// moments of the versions that record them.
func (c *changes) dateChanges() {
	for _, ch := range c.edges[c.start.edges:] {
		if ch.set != nil {
			ch.edge.since = ch.owner.cur.moment
		} else {
			ch.edge.until = ch.owner.cur.moment
		}
	}
	for i := c.start.roles; i < len(c.roles); i++ {
		c.roles[i].since = c.roles[i].by.cur.moment
	}
	for _, w := range c.newScopes[c.start.newScopes:] {
		own := []ancestry{{w.id, w.id, 0, w.cur.moment}}
		if a, ok := w.typ.Attr("Parent"); ok {
			if id, ok := w.cur.ref(a.Place.Slot); ok {
				for _, up := range c.loaded.ancestors[id] {
					own = append(own, ancestry{up.ancestor, w.id, up.depth + 1, w.cur.moment})
				}
			}
		}
		c.loaded.ancestors[w.id] = own
		c.closure = append(c.closure, own...)
	}
}

// newRow begins a new asset without any values.
func (c *changes) newRow(t *meta.Type, id int64) *row {
	w := &row{id: id, typ: t, isNew: true, dirty: true, cur: &state{
		code: meta.StateActive, until: db.Forever, slots: make([]any, len(c.s.e.layout.slots)),
	}}
	w.before = w.cur
	c.loaded.rows[id], c.loaded.edgeSets[id] = w, &edgeSet{typ: t.Code, isNew: true}
	c.touched = append(c.touched, w)
	return w
}

// touch makes a row ready for change by the current command.
func (c *changes) touch(w *row) {
	if w.before != nil {
		return
	}
	w.before = w.cur
	w.cur = w.cur.clone()
	w.dirty, w.links, w.forced = false, 0, false
	c.touched = append(c.touched, w)
}

// touchHolder is touch for an asset that holds a relation which the current
// command writes from its other end.
func (c *changes) touchHolder(w *row) {
	c.touch(w)
	if !w.holds {
		w.holds = true
		c.holders = append(c.holders, w)
	}
}

// addEdge begins an edge, unless the same command has ended the same one: then
// that one goes on. owner is the asset whose version records it.
func (c *changes) addEdge(set *edgeSet, e edge, owner *row) {
	if c.cancelEnd(set, &e, owner) {
		return
	}
	e.fromType, e.until = set.typ, db.Forever
	set.add(&e)
	c.edges = append(c.edges, edgeChange{&e, set, owner})
	owner.links++
}

// cancelEnd revokes the end of an edge. A member's link to a project is
// ended for good: the role went with it.
func (c *changes) cancelEnd(set *edgeSet, e *edge, owner *row) bool {
	at, ok := c.ended[endedBy(e, owner)]
	if !ok || c.s.e.layout.isMembers(e.code) {
		return false
	}
	delete(c.ended, endedBy(e, owner))
	old := c.edges[at].edge
	old.ended = false
	set.goesOn(old)
	c.edges[at] = edgeChange{}
	c.undone++
	owner.links--
	return true
}

// compact removes the places of ends that were revoked.
func (c *changes) compact() {
	if c.undone == 0 {
		return
	}
	of := slices.DeleteFunc(c.edges[c.start.edges:], func(ch edgeChange) bool { return ch.edge == nil })
	c.edges, c.undone = c.edges[:c.start.edges+len(of)], 0
}

// endEdge ends an edge; owner is the asset whose version records it.
func (c *changes) endEdge(e *edge, owner *row) {
	e.ended = true
	if set := c.loaded.edgeSets[e.from]; set != nil {
		set.ended(e)
	}
	if c.ended == nil {
		c.ended = map[endedEdge]int{}
	}
	c.ended[endedBy(e, owner)] = len(c.edges)
	c.edges = append(c.edges, edgeChange{edge: e, owner: owner})
	owner.links++
}

// mayBeRefused reports whether the database may refuse what memory cannot
// check: a username or a value that is there already.
func (c *changes) mayBeRefused() bool {
	return len(c.logins) > 0 || slices.ContainsFunc(c.edges, func(ch edgeChange) bool { return ch.set != nil && ch.edge.code < 0 })
}

// setLogin changes what a member logs in with; nil leaves it as it is.
func (c *changes) setLogin(w *row, username, password *string) {
	c.logins = append(c.logins, login{w.id, w.typ.Name, username, password})
}

// recordInSession notes in the session what later batches of the request must know.
func (c *changes) recordInSession() {
	for _, w := range c.made {
		if w.typ.Secured.Self {
			c.s.createdScopes = with(c.s.createdScopes, w.id)
		}
		if !w.typ.Seen.IsZero() {
			c.s.createdRuled = with(c.s.createdRuled, w.id)
		}
	}
	isMember := func(w *row) bool { return w.typ == c.s.e.layout.member } // its default role, or its state
	c.s.rolesChanged = c.s.rolesChanged || len(c.roles)+len(c.newScopes)+len(c.movedScopes) > 0 ||
		slices.ContainsFunc(c.made, isMember) || slices.ContainsFunc(c.changed, isMember)
	c.s.reached = c.s.reached.plus(c.reached())
	for counts, ids := range c.affected {
		for id := range ids {
			counts.written = with(counts.written, id)
		}
	}
	for _, w := range c.changed {
		if op := w.cur.partOp; op != "" {
			if c.s.partOps == nil {
				c.s.partOps = map[int64]string{}
			}
			c.s.partOps[w.id] = op
		} else {
			delete(c.s.partOps, w.id)
		}
	}
}

// with adds an id to a set, which may be nil.
func with(set map[int64]bool, id int64) map[int64]bool {
	if set == nil {
		set = map[int64]bool{}
	}
	set[id] = true
	return set
}

// withCommitted applies what earlier commands of the batch did to the ids that
// the database says are linked to an asset.
func (c *changes) withCommitted(ids []int64, relation int, to int64) []int64 {
	for _, ch := range c.edges[:c.start.edges] {
		switch e := ch.edge; {
		case e.code != relation || e.to != to:
		case ch.set == nil && e.stored:
			ids = slices.DeleteFunc(ids, func(id int64) bool { return id == e.from })
		case ch.set != nil && !e.ended:
			ids = append(ids, e.from)
		}
	}
	return ids
}
