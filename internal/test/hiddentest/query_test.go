package hiddentest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// ask is a query, in the form in which clients write it.
type ask struct {
	From   string         `json:"from"`
	Select []any          `json:"select,omitempty"` // each is a text or an *ask
	Where  map[string]any `json:"where,omitempty"`
	Filter []string       `json:"filter,omitempty"`
	Sort   []string       `json:"sort,omitempty"`
	Find   string         `json:"find,omitempty"`
	FindIn []string       `json:"findin,omitempty"`
	Page   any            `json:"page,omitempty"`
	AsOf   string         `json:"asof,omitempty"`
	Group  []*ask         `json:"group,omitempty"`
	Total  bool           `json:"total,omitempty"`
}

func (a *ask) String() string {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// queried are the types that queries are about. A type that is listed several times is chosen more often.
var queried = strings.Fields(`Story Story Story Workitem Workitem PrimaryWorkitem Epic Defect Task Test Scope Scope Member Member Theme Goal Issue Request
	Note Link Expression Conversation ChangeSet BuildRun BuildProject Actual BaseAsset Timebox Schedule Team RegressionSuite RegressionTest TestSet Role List`)

// query returns a random query.
func (g *maker) query() *ask {
	t, _ := model.Type(one(g, queried))
	a := &ask{From: t.Name}
	if g.chance(20) {
		o := g.oid(nil)
		a.From, t = o, typeOf(o)
	} else if g.chance(10) {
		a.From += "[" + g.filter(t, 1) + "]"
	}
	for range 1 + g.IntN(4) {
		a.Select = append(a.Select, g.column(t))
	}
	g.restrict(a, t)
	for range g.IntN(3) {
		a.Sort = append(a.Sort, g.oneOf("+ -")+g.path(t, sorted, 2))
	}
	if g.chance(15) {
		a.AsOf = "All"
		if g.marks > 0 && g.chance(60) {
			a.AsOf = "{mark" + strconv.Itoa(g.IntN(g.marks)) + "}"
		}
	}
	switch g.IntN(8) {
	case 0:
		a.Page = map[string]any{"size": 1 + g.IntN(5), "after": ""}
	case 1:
		a.Page = map[string]any{"size": g.IntN(9), "start": g.IntN(9)}
	}
	a.Total = g.chance(20)
	if g.chance(8) {
		a.Group = []*ask{{From: g.path(t, grouped, 1), Select: []any{"Name"}}}
	}
	return a
}

// restrict adds random conditions to a query.
func (g *maker) restrict(a *ask, t *meta.Type) {
	for range g.IntN(3) {
		a.Filter = append(a.Filter, g.filter(t, 2))
	}
	if g.chance(10) {
		p, k, related := g.walk(t, filtered, 2)
		a.Where = map[string]any{p: g.literal(k, related)}
	}
	if g.chance(10) {
		a.Find = g.name()
		if g.chance(30) {
			a.FindIn = []string{"Name"}
		}
	}
}

// column returns a token or a nested select for a query about assets of type t.
func (g *maker) column(t *meta.Type) any {
	if g.nesting > 1 || !g.chance(15) {
		return g.path(t, selected, 3)
	}
	g.nesting++
	defer func() { g.nesting-- }()
	p, _, to := g.walk(t, grouped, 2)
	sub := &ask{From: p, Select: []any{"Name", g.column(to)}}
	g.restrict(sub, to)
	return sub
}

// use says for what a query uses a path.
type use int

const (
	selected use = iota
	filtered
	sorted  // the path must have a single value
	grouped // the path must end in a relation
)

func (g *maker) path(t *meta.Type, u use, depth int) string {
	p, _, _ := g.walk(t, u, depth)
	return p
}

// walk returns a random token: relations, an attribute or relation at the end, and sometimes an aggregate.
// It also returns the kind of its value. to is the target type if the token ends in a relation.
func (g *maker) walk(t *meta.Type, u use, depth int) (path string, k meta.Kind, to *meta.Type) {
	for {
		p, many := "", false
		on := t
		for hop := 0; ; hop++ {
			a := g.attr(on)
			p, many, k, to = p+a.Name, many || a.Multi, a.Kind, a.Related
			if k != meta.Relation {
				break
			}
			down, narrowed := g.narrow(a)
			p, on, to = p+down, narrowed, narrowed
			if hop+1 >= depth || !g.chance(60) {
				break
			}
			p += "."
		}
		dated := k == meta.Date || k == meta.Relation && to.OrderBy != "" && isDate(to)
		switch {
		case u == grouped && k != meta.Relation, u != selected && k == meta.Blob:
			continue
		case u == filtered && dated, u == sorted && (dated || k == meta.Blob):
			continue // dates differ, because the services write at different times
		case u == sorted && many, u != grouped && g.chance(20):
			return p + g.aggregate(k), meta.Numeric, nil
		}
		return p, k, to
	}
}

// isDate reports whether assets of a type are sorted by a date if a query does not say otherwise.
func isDate(t *meta.Type) bool {
	a, ok := t.Attr(t.OrderBy)
	return ok && a.Kind == meta.Date
}

// liked are attributes that queries use more often than others.
var liked = strings.Fields(`Name Number Scope Super Parent Owners Children Subs Estimate ToDo Status Order AssetState Workitems OwnedWorkitems Dependencies
	Dependants Customer Members Scopes SecurityScope ChangedBy CreatedBy ParentMeAndUp ChildrenMeAndDown SubsMeAndDown SuperAndUp TaggedWith ID Moment
	Mentions MentionedInExpressions ChangeSets BuildRuns Notes PersonalNotes Links Participants ContainedExpressions Description CanUpdate Viewers
	CheckInactivate IsDeletable IsReadOnly History Prior Actuals Goals BlockingIssues Messages SecuredAssets DuplicateOf DuplicatedBy Timebox`)

// attr returns a random attribute of a type for a query.
func (g *maker) attr(t *meta.Type) *meta.Attr {
	if g.chance(60) {
		if a, ok := t.Attr(one(g, liked)); ok {
			return a
		}
	}
	for {
		a := one(g, t.Attrs)
		if a.Kind != meta.Password && a.Name != "Days" && a.Kind != meta.Blob {
			return a
		}
	}
}

// narrow returns a random text that may follow a relation in a token, such as a subtype. It also returns
// the type that the assets have with this text.
func (g *maker) narrow(a *meta.Attr) (string, *meta.Type) {
	t, s := a.Related, ""
	if len(t.Children) > 0 && g.chance(30) {
		t = one(g, t.Concrete)
		s = ":" + t.Name
	}
	if g.nesting < 2 && g.chance(12) {
		g.nesting++
		s += "[" + g.filter(t, 1) + "]"
		g.nesting--
	}
	return s, t
}

func (g *maker) aggregate(k meta.Kind) string {
	switch k {
	case meta.Numeric, meta.Rank, meta.LongInt:
		return ".@" + g.oneOf("Sum Min Max Count DistinctCount")
	case meta.Boolean:
		return ".@" + g.oneOf("And Or Count")
	case meta.State:
		return ".@" + g.oneOf("MaxState Count")
	}
	return ".@" + g.oneOf("Count DistinctCount")
}

// filter returns a filter with at most terms random comparisons.
func (g *maker) filter(t *meta.Type, terms int) string {
	var all []string
	for range 1 + g.IntN(terms) {
		p, k, to := g.walk(t, filtered, 3)
		op := g.oneOf("= = !=")
		switch {
		case g.chance(10):
			all = append(all, g.oneOf("+ -")+p)
			continue
		case k == meta.Text || k == meta.LongText:
			op = g.oneOf("= != ~= ~= < >")
		case k == meta.Numeric || k == meta.Rank || k == meta.LongInt || k == meta.Opaque:
			op = g.oneOf("= != < > <= >=")
		}
		values := []string{quote(g.literal(k, to))}
		if g.chance(15) {
			values = append(values, quote(g.literal(k, to)))
		}
		all = append(all, p+op+strings.Join(values, ","))
	}
	return strings.Join(all, g.oneOf("; |"))
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literal returns a value to compare with. Mostly it is a value that an asset may have.
func (g *maker) literal(k meta.Kind, to *meta.Type) string {
	switch k {
	case meta.Relation:
		if g.chance(8) {
			return ""
		}
		return g.oid(to)
	case meta.Numeric:
		return strconv.Itoa(g.IntN(12))
	case meta.Rank:
		return strconv.Itoa(1<<24 + g.IntN(7*partRanks))
	case meta.LongInt, meta.Opaque:
		return strconv.Itoa(1000 + g.IntN(7*partIDs))
	case meta.State:
		return g.oneOf("0 64 128 200 255 Active Closed Deleted Dead")
	case meta.Boolean:
		return g.oneOf("true false")
	case meta.AssetType:
		return one(g, queried)
	case meta.Duration:
		return "2 Weeks"
	}
	if g.chance(15) {
		return g.number()
	}
	return g.name()
}

// smaller returns copies of a query. In each copy one part is missing.
func (a *ask) smaller() []*ask {
	var all []*ask
	try := func(change func(*ask)) {
		b := *a
		change(&b)
		all = append(all, &b)
	}
	for i, item := range a.Select {
		try(func(b *ask) { b.Select = slices.Delete(slices.Clone(a.Select), i, i+1) })
		if sub, ok := item.(*ask); ok {
			for _, s := range sub.smaller() {
				try(func(b *ask) {
					b.Select = slices.Clone(a.Select)
					b.Select[i] = s
				})
			}
		}
	}
	for i := range a.Filter {
		try(func(b *ask) { b.Filter = slices.Delete(slices.Clone(a.Filter), i, i+1) })
	}
	for i := range a.Sort {
		try(func(b *ask) { b.Sort = slices.Delete(slices.Clone(a.Sort), i, i+1) })
	}
	for _, clear := range []func(*ask){
		func(b *ask) { b.Where = nil },
		func(b *ask) { b.Find, b.FindIn = "", nil },
		func(b *ask) { b.Page = nil },
		func(b *ask) { b.AsOf = "" },
		func(b *ask) { b.Group = nil },
		func(b *ask) { b.Total = false },
	} {
		try(clear)
	}
	return slices.DeleteFunc(all, func(b *ask) bool { return b.String() == a.String() })
}
