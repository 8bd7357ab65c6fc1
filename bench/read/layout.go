package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Type codes and relations of the model that the data uses.
const (
	typeStory, typeDefect, typeTask, typeTest, typeEpic = 4, 5, 7, 8, 9
	typeScope, typeTimebox, typeMember                  = 11, 12, 14

	ownersRelation = 1
	admin          = 20
)

// Asset states.
const (
	active, closed, deleted = 64, 128, 255
)

const (
	members   = 1000
	scopes    = 3000
	busy      = 300 // number of scopes that have most of the workitems
	timeboxes = 3000

	firstMember  = 1001
	firstScope   = firstMember + members
	firstTimebox = firstScope + scopes
	firstItem    = 10_000

	bigScope = firstScope // the scope with a twentieth of all workitems
)

// layout describes the data of the database. It depends only on the flags, so that a kept
// database matches.
type layout struct {
	assets, versions int
	items            []item // workitems; the first has the id firstItem
}

// item is one workitem. A reference of 0 means null.
type item struct {
	typ, state, status            int
	scope, parent, super, timebox int64
	owners, former                []int64
	order                         int64
	estimate                      float64
}

func (l *layout) id(i int) int64 { return firstItem + int64(i) }

// shares says how many of a thousand items have each type. upTo is the number of items of this type
// and of all types before it in the list.
var shares = []struct{ typ, upTo int }{
	{typeStory, 350}, {typeDefect, 500}, {typeTask, 805}, {typeTest, 970}, {typeEpic, 1000},
}

// newLayout chooses the assets with a fixed random seed, so that they are always the same.
func newLayout(o options) *layout {
	l := &layout{assets: o.assets, versions: o.versions}
	n := o.assets - members - scopes - timeboxes
	l.items = make([]item, 0, n)
	r := rand.New(rand.NewPCG(1, 2))
	above := map[int64]*branch{}
	for i := range n {
		scope := drawScope(r, float64(i)/float64(n))
		if above[scope] == nil {
			above[scope] = &branch{}
		}
		l.items = append(l.items, above[scope].draw(r, i, scope, n))
	}
	return l
}

// drawScope returns the scope for a new item. A twentieth of the items is in one scope, most of
// the rest in the busy scopes, and the remainder in any scope. The busy scopes are filled one after
// another. written is the part of the data that is already written, from 0 to 1.
func drawScope(r *rand.Rand, written float64) int64 {
	switch n := r.IntN(100); {
	case n < 5:
		return bigScope
	case n < 92:
		const atATime = 15
		return busyScope(int(written*busy) + r.IntN(atATime))
	}
	return bigScope + 1 + busy + r.Int64N(scopes-busy-1)
}

// branch has the assets of a scope that can be parents of new items.
type branch struct {
	epics, backlog []int64
	timebox        map[int64]int64
}

func (b *branch) draw(r *rand.Rand, i int, scope int64, n int) item {
	id := int64(firstItem + i)
	it := item{scope: scope, state: active, estimate: float64(1 + r.IntN(13))}
	share := r.IntN(1000)
	for _, s := range shares {
		if share < s.upTo {
			it.typ = s.typ
			break
		}
	}
	if (it.typ == typeTask || it.typ == typeTest) && len(b.backlog) == 0 {
		it.typ = typeStory
	}
	switch s := r.IntN(100); {
	case s < 3:
		it.state = deleted
	case s < 15:
		it.state = closed
	}
	switch s := r.IntN(100); { // most items are done
	case s < 60:
		it.status = 3
	case s < 80:
		it.status = 2
	case s < 95:
		it.status = 1
	}
	// New items are ranked last until they are moved.
	it.order = (int64(i)+r.Int64N(int64(n/5)))<<20 + id
	b.hang(r, id, &it)
	it.own(r)
	return it
}

// hang sets the parent and the timebox of an item.
func (b *branch) hang(r *rand.Rand, id int64, it *item) {
	switch it.typ {
	case typeEpic:
		b.epics = append(b.epics, id)
	case typeTask, typeTest:
		it.parent = b.backlog[r.IntN(len(b.backlog))]
		it.timebox = b.timebox[it.parent]
	default:
		if len(b.epics) > 0 && r.IntN(100) < 80 {
			it.super = b.epics[r.IntN(len(b.epics))]
		}
		if r.IntN(100) < 70 {
			it.timebox = firstTimebox + r.Int64N(timeboxes)
		}
		if b.timebox == nil {
			b.timebox = map[int64]int64{}
		}
		b.timebox[id] = it.timebox
		b.backlog = append(b.backlog, id)
	}
}

// own sets the owners. Three in five items have one or two owners. A quarter had another owner
// before.
func (it *item) own(r *rand.Rand) {
	part := r.Float64()
	member := firstMember + int64((members-5)*part*part*part) // some members own many items
	switch n := r.IntN(100); {
	case n < 40:
		it.owners = []int64{member}
	case n < 60:
		it.owners = []int64{member, member + 1}
	}
	if r.IntN(100) < 25 {
		it.former = []int64{member + 2}
	}
}

// Every asset is created in the first wave and changed once in each later wave, in the order
// of ids.
const firstMoment = 2000

func (l *layout) wave(version int) int64 {
	return firstMoment + int64(version)*int64(l.assets+firstItem)
}

// moment returns the moment of one version of an asset.
func (l *layout) moment(id int64, version int) int64 { return l.wave(version) + id }

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns the time at which a wave ended.
func at(version int) time.Time { return began.AddDate(0, 0, version) }

// asOf returns a time at which every asset has its second to last version.
func (l *layout) asOf() time.Time { return at(max(0, l.versions-2)).Add(time.Hour) }

// asOfMoment returns the moment of asOf.
func (l *layout) asOfMoment() int64 { return l.wave(max(0, l.versions-2)+1) - 1 }

// busyScope returns one of the busy scopes, which have most of the workitems. Each n below busy has
// a different scope.
func busyScope(n int) int64 { return bigScope + 1 + int64(n%busy) }

// scopeParent returns the parent of a scope, in a tree of about four levels.
func scopeParent(i int) int64 {
	if i < 30 {
		return 0
	}
	return firstScope + int64((i-30)/10)
}

// held returns the scopes in which the reader, who is the first member, has a role: the top of a
// large branch of the tree and some smaller scopes.
func held() []int64 {
	ids := []int64{branchScope(2)}
	for i := range int64(8) {
		ids = append(ids, firstScope+60+i)
	}
	return ids
}

// readable returns the scopes that the reader sees: 199 of 3,000.
func readable() []int64 {
	var ids []int64
	for i := range scopes {
		id := firstScope + int64(i)
		for up := id; up != 0; up = scopeParent(int(up - firstScope)) {
			if slices.Contains(held(), up) {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}
