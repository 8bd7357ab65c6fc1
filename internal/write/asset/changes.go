package asset

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/write/asset/rank"
)

// unit is the unit of work of a batch: the data that it has read, and its changes.
type unit struct {
	s       *Session
	loaded  *loaded
	changes *changes
}

// changes contains the changes of a batch in memory until they are written. Each command
// begins at a savepoint and ends with commit or rollback.
type changes struct {
	s      *Session
	loaded *loaded

	start   savepoint         // savepoint of the current command
	touched []*row            // assets that the current command creates or may change
	holders []*row            // assets in touched that store a relation which the command writes from its other end
	asked   []role            // roles that the current command sets, including roles that the member already has
	ended   map[endedEdge]int // key: edge that the current command has ended; value: index in edges
	undone  int               // number of ended edges that continue after all; their entries in edges are empty
	counts  *Affected         // limit on the changed assets of the current command; nil: no limit

	edges       []edgeChange // in the order of the changes
	logins      []login
	contents    []content
	roles       []role
	newScopes   []*row                       // new projects
	movedScopes []*row                       // projects with a new parent
	affected    map[*Affected]map[int64]bool // key: limit of some commands; value: ids of the assets they changed
	beside      int                          // number of changed assets that no command names
	bytes       int64                        // size of the texts of versions

	moments  int64                // number of moments to allocate
	numbers  map[*meta.Type]int64 // key: type; value: how many Numbers to allocate
	ranks    map[string]int64     // key: sequence; value: how many ranks to allocate
	made     []*row               // new assets
	changed  []*row               // changed assets that existed before the batch
	versions []*version
	closings []closing
	closure  []ancestry // rows of scope_closure for new projects
}

func newChanges(s *Session, l *loaded) *changes {
	return &changes{
		s: s, loaded: l,
		numbers: map[*meta.Type]int64{}, affected: map[*Affected]map[int64]bool{}, ranks: map[string]int64{},
	}
}

// savepoint contains the lengths of the lists of changes when a command began.
type savepoint struct{ edges, logins, contents, roles, newScopes, movedScopes int }

// edgeChange is an edge that a command has begun or ended.
type edgeChange struct {
	edge  *edge
	set   *edgeSet // the set to which the edge was added; nil if the edge ended
	owner *row     // the asset whose version records the change
}

// endedEdge is the key of an edge that the current command has ended.
type endedEdge struct {
	from  int64
	end   string // exact text of a value; a value that differs only in case has another key
	code  int
	to    int64
	owner *row // the asset whose version records the end
}

func endedBy(e *edge, owner *row) endedEdge { return endedEdge{e.from, e.text, e.code, e.to, owner} }

// closing is the end of the version that was current before the batch.
type closing struct {
	row   *row
	until moment
}

// login is a username or password to set.
type login struct {
	member             int64
	typ                string  // name of the member's type
	username, password *string // password is a hash; nil: the value does not change
}

// role is a row of scope_member to write or to end.
type role struct {
	scope, member, role int64 // stored ids
	owner               bool
	since               moment // moment of the change
	end                 bool   // true if the current row ends and no new row begins
	by                  *row   // the asset whose version records the change
}

func (o *role) gives(want role) bool { return !o.end && o.role == want.role && o.owner == want.owner }

// begin sets the savepoint of a command.
func (c *changes) begin() {
	c.touched, c.holders, c.asked, c.undone = c.touched[:0], c.holders[:0], c.asked[:0], 0
	clear(c.ended)
	c.start = savepoint{len(c.edges), len(c.logins), len(c.contents), len(c.roles), len(c.newScopes), len(c.movedScopes)}
}

// rollback undoes the changes of the current command.
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
		w.cur, w.draft = w.before, draft{}
	}
	c.edges, c.logins, c.roles = c.edges[:c.start.edges], c.logins[:c.start.logins], c.roles[:c.start.roles]
	c.contents = c.contents[:c.start.contents]
	c.newScopes, c.movedScopes = c.newScopes[:c.start.newScopes], c.movedScopes[:c.start.movedScopes]
	c.touched = c.touched[:0]
}

// commit makes the changes of the current command final. Each asset that the
// command created or changed gets one version with a moment of its own.
func (c *changes) commit() {
	for _, w := range c.touched {
		if w.dirty && !w.forced && !w.creating() && w.cur.same(w.before) {
			w.dirty = false // the row has the same values as before the command
		}
		if !w.dirty && w.links == 0 {
			w.cur = w.before
			continue
		}
		c.addVersion(w)
		if c.counts != nil && !c.counts.written[w.id] {
			c.affected[c.counts] = with(c.affected[c.counts], w.id)
		}
	}
	c.dateChanges()
	for _, w := range c.touched {
		w.draft = draft{}
	}
	c.beside += max(len(c.touched)-1, 0)
	c.touched = c.touched[:0]
}

// addVersion adds the current state of a row as a version with the next moment, and ends the
// previous version.
func (c *changes) addVersion(w *row) {
	c.moments++
	st := w.cur
	st.moment, st.linked, st.until = moment(-c.moments), w.links > 0, forever
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
	c.bytes += st.TextSize()
	w.latest = &version{row: w, state: st}
	c.versions = append(c.versions, w.latest)
}

// addNumber reserves the Number and the rank of a new asset.
func (c *changes) addNumber(w *row) {
	tr := c.s.e.layout.types[w.typ]
	if tr.number >= 0 {
		w.cur.Slots[tr.number] = numbered{w.typ, c.numbers[w.typ]}
		c.numbers[w.typ]++
	}
	w.placed = tr.order >= 0 && w.cur.Slots[tr.order] != nil
	if tr.order >= 0 && !w.placed {
		w.cur.Slots[tr.order] = c.nextRank(w.typ)
	}
}

// nextRank reserves a rank after all others in the rank space of a type.
func (c *changes) nextRank(t *meta.Type) ranked {
	name := rank.Sequence(t)
	c.ranks[name]++
	return ranked{name, c.ranks[name]}
}

// dateChanges sets the moments of the edges and roles that the current command changed, and of its
// new projects. An edge or a role gets the moment of the version that records its change.
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

// newRow adds a new asset without values.
func (c *changes) newRow(t *meta.Type, id int64) *row {
	st := c.s.e.layout.newState()
	st.code = meta.StateActive
	w := &row{id: id, typ: t, cur: st, isNew: true, draft: draft{before: st, dirty: true}}
	c.loaded.rows[id], c.loaded.edgeSets[id] = w, &edgeSet{typ: t.Code, isNew: true}
	c.touched = append(c.touched, w)
	return w
}

// touch prepares a row for changes. It must be called before the current command changes the row.
// A second call does nothing.
func (c *changes) touch(w *row) {
	if w.before != nil {
		return
	}
	w.draft = draft{before: w.cur}
	w.cur = w.cur.clone()
	c.touched = append(c.touched, w)
}

// touchHolder calls touch for an asset that stores a relation which the current command
// writes from the other end. It adds the asset to holders.
func (c *changes) touchHolder(w *row) {
	c.touch(w)
	if !w.holds {
		w.holds = true
		c.holders = append(c.holders, w)
	}
}

// addEdge begins an edge. If the current command has ended the same edge, that edge continues
// instead. owner is the asset whose version records the change.
func (c *changes) addEdge(set *edgeSet, e edge, owner *row) {
	if c.cancelEnd(set, &e, owner) {
		return
	}
	e.fromType, e.until = set.typ, forever
	set.add(&e)
	c.edges = append(c.edges, edgeChange{&e, set, owner})
	owner.links++
}

// cancelEnd makes an edge continue if the current command has ended it. It reports whether the
// edge continues. The link of a project to a member stays ended, because the role of the member
// has ended together with the link.
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

// compact removes the empty entries that cancelEnd has left in edges.
func (c *changes) compact() {
	if c.undone == 0 {
		return
	}
	kept := slices.DeleteFunc(c.edges[c.start.edges:], func(ch edgeChange) bool { return ch.edge == nil })
	c.edges, c.undone = c.edges[:c.start.edges+len(kept)], 0
}

// endEdge ends an edge. owner is the asset whose version records the change.
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

// mayBeRefused reports whether the database may refuse a change that cannot be checked in
// memory: a username, or a value of a multi-value scalar, may exist already.
func (c *changes) mayBeRefused() bool {
	beginsValue := func(ch edgeChange) bool { return ch.set != nil && ch.edge.code < 0 }
	return len(c.logins) > 0 || slices.ContainsFunc(c.edges, beginsValue)
}

// setLogin changes the username, or the hash of the password, of a member. nil means that the
// value does not change.
func (c *changes) setLogin(w *row, username, password *string) {
	c.logins = append(c.logins, login{w.id, w.typ.Name, username, password})
}

// recordInSession records in the session the data that later batches of the request need.
func (c *changes) recordInSession() {
	if c.s.recording {
		c.record()
	}
	for _, w := range c.made {
		if w.typ.Secured.Self {
			c.s.createdScopes = with(c.s.createdScopes, w.id)
		}
		if !w.typ.Seen.IsZero() {
			c.s.createdRuled = with(c.s.createdRuled, w.id)
		}
	}
	// A change of a member may change the default role or the state.
	isMember := func(w *row) bool { return w.typ == c.s.e.layout.member }
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

// with returns the set with an id added. The set may be nil.
func with(set map[int64]bool, id int64) map[int64]bool {
	if set == nil {
		set = map[int64]bool{}
	}
	set[id] = true
	return set
}

// withCommitted returns the assets that have a link of a relation to one asset. The parameter to is
// the id of that asset, and ids are the assets that have such a link in the database. withCommitted
// adds and removes ids according to the changes of earlier commands of the batch.
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
