package costtest

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

var model = meta.Default()

// maker makes random requests about the assets of a world.
type maker struct {
	*rand.Rand
	w     *world
	depth int // current level of nested queries
}

func (g *maker) chance(percent int) bool { return g.IntN(100) < percent }

func one[T any](g *maker, all []T) T { return all[g.IntN(len(all))] }

// oneOf returns a random word of a text. A word that occurs several times is returned more often.
func (g *maker) oneOf(words string) string { return one(g, strings.Fields(words)) }

// few returns a small random number: mostly 1 or 2, otherwise up to most. It is small because callers
// multiply several such numbers.
func (g *maker) few(most int) int {
	if g.chance(70) {
		return 1 + g.IntN(2)
	}
	return 1 + g.IntN(most)
}

// count returns a number of repetitions. Half of the time it is 1. Otherwise it is not higher than most,
// and each order of magnitude is equally likely.
func (g *maker) count(most int) int {
	if g.chance(50) {
		return 1
	}
	return 1 + int(math.Exp(g.Float64()*math.Log(float64(most))))
}

// some calls make up to most times and returns the values.
func some[T any](g *maker, most int, make func() T) (all []T) {
	for range g.IntN(most + 1) {
		all = append(all, make())
	}
	return all
}

// types are the types that requests read and write. A type that is listed several times is chosen more
// often.
var types = strings.Fields(`Story Story Story Story Workitem PrimaryWorkitem Epic Defect Task Test Scope Scope Scope Member Member Theme Goal Issue Request Note
	Link Expression Conversation ChangeSet BuildRun BuildProject Actual BaseAsset Timebox Schedule Team RegressionSuite TestSet Role List Message AssetType AttributeDefinition`)

func (g *maker) typ() *meta.Type {
	t, _ := model.Type(one(g, types))
	return t
}

// liked are attributes that are chosen more often than others: mostly relations to many assets, and long
// texts.
var liked = strings.Fields(`Name Description Number Scope Super Parent Owners Children Subs Estimate Status Order AssetState Workitems OwnedWorkitems
	Dependencies Dependants Members SecurityScope ParentMeAndUp ParentAndUp ChildrenMeAndDown ChildrenAndDown SubsMeAndDown SubsAndDown SuperAndUp SuperMeAndUp
	TaggedWith ID Mentions MentionedInExpressions Notes Links ContainedExpressions CanUpdate Viewers History Prior Actuals Goals Messages SecuredAssets Content
	Recipients PrimaryWorkitems BlockingIssues ChangeSets CreatedBy ChangedBy AssignedRoles ScopeAccess Assets Participants Reference`)

func (g *maker) attr(t *meta.Type) *meta.Attr {
	for range 3 {
		if a, ok := t.Attr(one(g, liked)); ok && g.chance(90) {
			return a
		}
	}
	return one(g, t.Attrs)
}

// use says for what a query uses a token.
type use int

const (
	shown use = iota
	compared
	sorted   // the token must have a single value
	searched // the token must be a text
	followed // the token must be a relation
)

// fits reports whether a token may end in the attribute a if it is used for u. many is true if the token
// has many values.
func (u use) fits(a *meta.Attr, many bool) bool {
	switch u {
	case compared:
		return a.Kind != meta.Blob && a.Kind != meta.Password
	case sorted:
		return !many && a.Kind != meta.Blob && a.Kind != meta.Password
	case searched:
		return a.Kind == meta.Text || a.Kind == meta.LongText
	case followed:
		return a.Kind == meta.Relation && a.Related != nil
	}
	return true
}

// path makes a token such as Scope.Owners.Name: relations, an attribute, and perhaps an aggregate.
func (g *maker) path(t *meta.Type, u use) text { p, _ := g.walk(t, u); return p }

// number stands for the attribute when a token ends in an aggregate.
var number = &meta.Attr{Kind: meta.Numeric}

// walk makes a token and returns the attribute at its end.
func (g *maker) walk(t *meta.Type, u use) (text, *meta.Attr) {
	for range 100 {
		if p, a, many := g.wander(t, u); u.fits(a, many) || g.chance(1) {
			return p, a
		}
	}
	a, _ := t.Attr("ID")
	return word("ID"), a
}

func (g *maker) wander(t *meta.Type, u use) (p text, end *meta.Attr, many bool) {
	hops := g.few(8)
	if g.chance(5) && u == shown { // one relation, repeated several times
		for range 20 {
			if a := g.attr(t); a.Kind == meta.Relation && a.Related != nil && a.Name != "ID" && a.Related.IsA(t) {
				return and(again(a.Name, 1+g.IntN(15), "."), word(g.oneOf(".Name .ID .@Count .Description .Name.@Count"))), number, true
			}
		}
	}
	for i := 0; ; i++ {
		a := g.attr(t)
		p, many = append(p, part{Of: a.Name, N: 1}), many || a.Multi
		if a.Kind != meta.Relation || a.Related == nil || i+1 >= hops {
			if u != followed && u != searched && g.chance(20) {
				return append(p, part{Of: ".@" + g.aggregate(a.Kind), N: 1}), number, false
			}
			return p, a, many
		}
		t = a.Related
		if len(t.Children) > 0 && g.chance(20) {
			t = one(g, t.Concrete)
			p = append(p, part{Of: ":" + t.Name, N: 1})
		}
		if g.depth < 3 && g.chance(10) {
			g.depth++
			p = and(p, word("["), g.filter(t), word("]"))
			g.depth--
		}
		p = append(p, part{Of: ".", N: 1})
	}
}

func (g *maker) aggregate(k meta.Kind) string {
	switch k {
	case meta.Numeric, meta.LongInt:
		return g.oneOf("Sum Min Max Count DistinctCount")
	case meta.Date:
		return g.oneOf("MinDate MaxDate Count")
	case meta.Boolean:
		return g.oneOf("And Or Count")
	case meta.State:
		return g.oneOf("MaxState Count")
	}
	return g.oneOf("Count DistinctCount")
}

// filter makes a filter of a few comparisons. A comparison may have many values or may be repeated.
func (g *maker) filter(t *meta.Type) text {
	var f text
	for i := range g.few(6) {
		if i > 0 {
			f = and(f, word(g.oneOf("; & |")))
		}
		p, a := g.walk(t, compared)
		term := and(p, word(operatorOf(g, a)))
		switch {
		case g.chance(8):
			term = and(word(g.oneOf("+ -")), p)
		case g.chance(20):
			term = and(term, word(variableOf(a)))
		default:
			term = and(term, g.quoted(a))
		}
		if g.chance(15) {
			term = again(term.String(), g.count(300), g.oneOf("; & |"))
		}
		if g.chance(5) {
			n := 1 + g.IntN(6)
			term = and(again("(", n, ""), term, again(")", n, ""))
		}
		f = and(f, term)
	}
	return f
}

func operatorOf(g *maker, a *meta.Attr) string {
	switch a.Kind {
	case meta.Text, meta.LongText:
		return g.oneOf("= != < > ~= ~= ~=")
	case meta.Numeric, meta.LongInt, meta.Date:
		return g.oneOf("= != < > <= >=")
	}
	return g.oneOf("= = !=")
}

// variableOf returns the name of a variable whose values can be compared with an attribute.
func variableOf(a *meta.Attr) string {
	switch a.Kind {
	case meta.Relation:
		return "$oids"
	case meta.Numeric, meta.LongInt:
		return "$numbers"
	}
	return "$texts"
}

// quoted makes values in quotes that an attribute is compared with.
func (g *maker) quoted(a *meta.Attr) text {
	v := g.literal(a)
	if g.chance(25) {
		each := strings.ReplaceAll(v.String(), "'", "")
		switch a.Kind {
		case meta.Relation:
			each = "Story:" + index
		case meta.Numeric, meta.LongInt:
			each = index
		case meta.Text, meta.LongText:
			each += index
		}
		return again("'"+each+"'", g.count(20_000), ",")
	}
	for i := range v {
		v[i].Of = strings.ReplaceAll(v[i].Of, "'", "")
	}
	return and(word("'"), v, word("'"))
}

// literal makes a value that fits an attribute.
func (g *maker) literal(a *meta.Attr) text {
	if g.chance(1) {
		return g.text()
	}
	switch a.Kind {
	case meta.Relation:
		return word(g.oid(a.Related))
	case meta.Numeric, meta.Rank, meta.LongInt:
		return word(g.oneOf("0 1 2 13 1000 16777216 -1 1e9"))
	case meta.State:
		return word(g.oneOf("64 128 Active Closed Deleted Dead"))
	case meta.Boolean:
		return word(g.oneOf("true false"))
	case meta.Date:
		return word(g.oneOf("2026-01-01 2026-11-27T10:00:00 1900-01-01"))
	}
	return g.text()
}

// text makes a text to search for or to write: a short text, or a part that is repeated.
func (g *maker) text() text {
	if g.chance(50) {
		return word(g.oneOf("a Story 1 System x % %% * a*a 'a' Ünö 日本 😀"))
	}
	return again(g.oneOf("a a a aa ab a%b* % * %a ü 日 😀 & < word_ a"+index), g.count(60_000), g.oneOf("- , ;")[:g.IntN(2)])
}

// oid returns the Oid of a random asset of a type, or of any asset if it finds none of the type.
func (g *maker) oid(t *meta.Type) string {
	if t != nil {
		for range 4 {
			if all := g.w.oids[one(g, t.Concrete).Name]; len(all) > 0 {
				return one(g, all)
			}
		}
	}
	return one(g, g.w.all)
}
