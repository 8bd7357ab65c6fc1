package difftest

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// shape says what kind of path a query needs.
type shape int

const (
	anything shape = iota // for select: one value, a list, or an aggregate
	tested                // for a filter: the same paths as for anything
	plain                 // no aggregate
	single                // for sort: one value, or an aggregate
	relation              // for a nested select: a relation at the end
)

// path returns a random path that has the wanted shape.
func (q *questioner) path(t *meta.Type, depth int, want shape) path {
	for {
		s := q.walk(t, depth, want)
		p := bindText(q.w.m, t, s)
		if want == single && p.many() || want == relation && (p.kind != meta.Relation || len(p.steps) == 0) {
			continue
		}
		p.text = s
		return p
	}
}

// unasked are computed attributes that the evaluator cannot compute. No query uses them.
var unasked = strings.Fields("Days Viewers Duration EstimatedAllocatedDone")

// attrs returns the attributes of a type that queries may use.
func (q *questioner) attrs(t *meta.Type) []*meta.Attr {
	all := slices.Clone(t.Attrs)
	seen := map[string]bool{}
	for _, c := range t.Concrete {
		for _, a := range c.Attrs { // attributes that only some subtypes have
			if p, some := t.Partial(a.Name); some && p.Clash == "" && !seen[a.Name] {
				seen[a.Name] = true
				all = append(all, p.Attr)
			}
		}
	}
	return slices.DeleteFunc(all, func(a *meta.Attr) bool {
		return a.Kind == meta.Blob || a.Kind == meta.Password ||
			slices.Contains(unasked, a.Name) && a.Place.Kind == meta.System
	})
}

// liked are the attributes that queries use more often than others.
var liked = strings.Fields(`Name Scope Super Parent Owners Children Subs Estimate ToDo Status Order AssetState IsDeleted Workitems
	OwnedWorkitems Category Dependencies Customer IsLoginDisabled CheckCopy CanUpdate IsDeletable CheckQuickSignup Value Source ParentMeAndUp ChildrenMeAndDown SubsMeAndDown SuperAndUp TaggedWith Members Ideas AssetType ID DetailEstimate Number
	Custom_Anywhere Custom_Cost Custom_Due Custom_Met Custom_Motto Custom_Share Custom_Origin Custom_Stories Custom_Reviewers Custom_Letter`)

// attr returns a random attribute of a type, often one of liked.
func (q *questioner) attr(t *meta.Type) *meta.Attr {
	if q.chance(60) {
		name := liked[q.IntN(len(liked))]
		if a, ok := t.Attr(name); ok {
			return a
		}
		if p, some := t.Partial(name); some && p.Clash == "" {
			return p.Attr
		}
	}
	all := q.attrs(t)
	return all[q.IntN(len(all))]
}

// walk returns a random token: sometimes a subtype as prefix, then relations, then an attribute or a
// relation at the end, and sometimes an aggregate.
func (q *questioner) walk(t *meta.Type, depth int, want shape) string {
	var b strings.Builder
	aggregates := want != plain && want != relation
	if sub := t.Concrete[q.IntN(len(t.Concrete))]; sub != t && q.chance(25) {
		if _, taken := t.Attr(sub.Name); !taken {
			b.WriteString(sub.Name + ".")
			t = sub
		}
	}
	for {
		a := q.attr(t)
		b.WriteString(a.Name)
		if a.Kind != meta.Relation {
			if aggregates && (q.chance(25) || want == single && a.Multi) {
				b.WriteString(q.aggregate(a.Kind))
			}
			return b.String()
		}
		var narrow string
		narrow, t = q.narrow(a)
		b.WriteString(narrow)
		if depth--; depth > 0 && q.chance(75) {
			b.WriteByte('.')
			continue
		}
		if aggregates && q.chance(40) {
			b.WriteString(q.aggregate(meta.Relation))
		}
		return b.String()
	}
}

// narrow returns a random text that may follow a relation in a token: "#", a subtype or a filter in
// brackets. It also returns the type that the assets have with this text.
func (q *questioner) narrow(a *meta.Attr) (string, *meta.Type) {
	t := a.Related
	if a.Place.Kind == meta.Calc {
		return "", t
	}
	s := ""
	if q.chance(4) && a.Place.Kind != meta.System {
		s += "#"
	}
	if len(t.Children) > 0 && q.chance(25) {
		t = t.Concrete[q.IntN(len(t.Concrete))]
		s += ":" + t.Name
	}
	if q.chance(15) && a.Name != "ID" && q.brackets < 3 {
		q.brackets++
		s += "[" + q.filter(t, 2, 1) + "]"
		q.brackets--
	}
	if s == "" && len(a.Among) > 0 && q.chance(50) {
		t = a.Among[0]
	}
	return s, t
}

// aggregate returns a random aggregate that is allowed for a kind.
func (q *questioner) aggregate(k meta.Kind) string {
	fit := []string{"Count", "DistinctCount"}
	switch k {
	case meta.Numeric, meta.Rank, meta.LongInt:
		fit = append(fit, "Sum", "Min", "Max", "Sum")
	case meta.Date:
		fit = []string{"MinDate", "MaxDate", "Count"}
	case meta.Boolean:
		fit = []string{"And", "Or", "Count"}
	case meta.State:
		fit = []string{"MaxState", "MaxState", "Count"}
	}
	return ".@" + fit[q.IntN(len(fit))]
}
