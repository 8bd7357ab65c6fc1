package difftest

import (
	"math/rand/v2"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// questioner makes random valid queries about a world. Most of the values in them are values of the world,
// so that filters find something.
type questioner struct {
	*rand.Rand
	w    *world
	e    *evaluator // evaluates for an actor who sees everything, at the current time
	with map[string]any

	brackets int // levels of brackets around the part that is being made
}

func newQuestioner(r *rand.Rand, w *world, e *evaluator) *questioner {
	return &questioner{Rand: r, w: w, e: e}
}

// queried are the types from which rowType chooses. A type that is listed several times is chosen more
// often.
var queried = strings.Fields(`Story Story Story Scope Scope Member Workitem Workitem PrimaryWorkitem PrimaryWorkitem Epic Epic Task
	Test Defect Theme Note BaseAsset BaseAsset StoryStatus List Issue Goal Timebox Actual Request Role State TestSet RegressionSuite
	Message Conversation Expression TeamRoom Link Team Custom_OriginType`)

func (q *questioner) chance(percent int) bool { return q.IntN(100) < percent }

// ask returns a random query about the current state.
func (q *questioner) ask() *ask {
	q.with = map[string]any{}
	t := q.rowType()
	a := &ask{From: t.Name}
	switch {
	case q.chance(3):
		if o := q.oidOf(t); o != "" {
			a.From = o
			parsed, err := oid.Parse(o)
			must(err)
			t, _ = q.w.m.Type(parsed.Type)
		}
	case q.chance(5):
		q.brackets++
		if t != t.Concrete[0] && q.chance(50) {
			t = t.Concrete[q.IntN(len(t.Concrete))]
			a.From += ":" + t.Name
		}
		a.From += "[" + q.filter(t, 2, 1) + "]"
		q.brackets--
	}
	q.fill(a, t, 3)
	if q.chance(15) {
		a.Page = &page{q.IntN(12), q.IntN(12)}
	}
	if len(q.with) > 0 {
		a.With = q.with
	}
	return a
}

// rowType returns a random type for the rows of a query. Mostly the world has assets of this type.
func (q *questioner) rowType() *meta.Type {
	t, _ := q.w.m.Type(queried[q.IntN(len(queried))])
	all := q.w.at(current).order
	for range 3 {
		if x := all[q.IntN(len(all))]; x.id > 1000 && q.chance(70) {
			above := x.typ.Ancestors()
			t = above[min(q.IntN(len(above)), q.IntN(len(above)))]
		}
	}
	return t
}

// fill adds to a query the parts that a nested select may have, too.
func (q *questioner) fill(a *ask, t *meta.Type, depth int) {
	have := map[string]bool{}
	for range q.IntN(5) {
		var item any
		name := ""
		if depth > 0 && q.chance(15) {
			sub := q.nested(t, depth-1)
			item, name = sub, sub.From
		} else {
			name = q.path(t, 3, anything).text
			item = name
		}
		if !have[name] {
			have[name] = true
			a.Select = append(a.Select, item)
		}
	}
	if q.chance(50) {
		for range 1 + q.IntN(4)/3 {
			a.Filter = append(a.Filter, q.filter(t, 3, 2))
		}
	}
	if q.chance(8) {
		a.Where = map[string]string{}
		p := q.path(t, 2, tested)
		a.Where[p.text] = q.literal(p, t, true)
	}
	for q.chance(40) {
		a.Sort = append(a.Sort, []string{"", "+", "-"}[q.IntN(3)]+q.path(t, 2, single).text)
	}
	if q.chance(8) {
		q.find(a, t)
	}
}

// find adds a search text to a query. Often this is only the beginning of a text of the world.
func (q *questioner) find(a *ask, t *meta.Type) {
	for range q.IntN(3) {
		p := q.path(t, 2, plain)
		if isText(p.kind) {
			a.FindIn = append(a.FindIn, p.text)
		}
	}
	if _, ok := t.Attr("Name"); !ok && len(a.FindIn) == 0 {
		return
	}
	g := grower{Rand: q.Rand}
	a.Find = g.text()
	if r := []rune(a.Find); q.chance(50) {
		a.Find = string(r[:1+q.IntN(len(r))])
	}
	if len(a.Find) > 0 && strings.ContainsAny(a.Find[len(a.Find)-1:], "*'\"") || strings.ContainsAny(a.Find[:1], `'"`) {
		a.Find = "a" // a search removes these characters; the specification cases test that
	}
}

// nested returns a random select that can be inside another select.
func (q *questioner) nested(t *meta.Type, depth int) *ask {
	p := q.path(t, 2, relation)
	sub := &ask{From: p.text}
	q.fill(sub, p.to, depth)
	return sub
}
