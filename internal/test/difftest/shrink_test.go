package difftest

import (
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/query/token"
)

// shrink returns a smaller query for which differs is still true. It removes one part after another while
// differs stays true.
func shrink(a *ask, differs func(*ask) bool) *ask {
	for again := true; again; {
		again = false
		for _, smaller := range smallerAsks(a) {
			if differs(smaller) {
				a, again = smaller, true
				break
			}
		}
	}
	return a
}

// smallerAsks returns copies of a query. In each copy one part is missing.
func smallerAsks(a *ask) []*ask {
	var all []*ask
	try := func(change func(*ask)) {
		b := *a
		change(&b)
		all = append(all, &b)
	}
	for i, item := range a.Select {
		try(func(b *ask) { b.Select = without(b.Select, i) })
		if sub, ok := item.(*ask); ok {
			for _, s := range smallerAsks(sub) {
				try(func(b *ask) { b.Select = with(b.Select, i, any(s)) })
			}
		} else {
			for _, s := range smallerPaths(item.(string)) {
				try(func(b *ask) { b.Select = with(b.Select, i, any(s)) })
			}
		}
	}
	for i, f := range a.Filter {
		try(func(b *ask) { b.Filter = without(b.Filter, i) })
		for _, s := range smallerFilters(parse(f)) {
			try(func(b *ask) { b.Filter = with(b.Filter, i, s.String()) })
		}
	}
	for i := range a.Sort {
		try(func(b *ask) { b.Sort = without(b.Sort, i) })
	}
	for name := range a.Where {
		try(func(b *ask) {
			b.Where = maps.Clone(a.Where)
			delete(b.Where, name)
		})
	}
	for name := range a.With {
		try(func(b *ask) {
			b.With = maps.Clone(a.With)
			delete(b.With, name)
		})
	}
	if a.Page != nil {
		try(func(b *ask) { b.Page = nil })
	}
	if a.Find != "" {
		try(func(b *ask) { b.Find, b.FindIn = "", nil })
	}
	for i := range a.FindIn {
		try(func(b *ask) { b.FindIn = without(b.FindIn, i) })
	}
	if a.AsOf != "" {
		try(func(b *ask) { b.AsOf = "" })
	}
	return all
}

func without[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }

func with[T any](list []T, i int, v T) []T {
	list = slices.Clone(list)
	list[i] = v
	return list
}

// smallerFilters returns copies of a filter. In each copy one part is missing.
func smallerFilters(f token.Filter) []token.Filter {
	var all []token.Filter
	all = append(all, f.Kids...)
	for i, k := range f.Kids {
		if len(f.Kids) > 2 {
			all = append(all, token.Filter{Op: f.Op, Kids: without(f.Kids, i)})
		}
		for _, s := range smallerFilters(k) {
			all = append(all, token.Filter{Op: f.Op, Kids: with(f.Kids, i, s)})
		}
	}
	if f.Op == token.Leaf {
		if len(f.Term.Values) > 1 {
			for i := range f.Term.Values {
				t := f.Term
				t.Values = without(t.Values, i)
				all = append(all, token.Filter{Term: t})
			}
		}
		for _, p := range smallerTokens(f.Term.Path) {
			t := f.Term
			t.Path = p
			all = append(all, token.Filter{Term: t})
		}
	}
	return all
}

func smallerPaths(s string) []string {
	p, err := token.Parse(s)
	must(err)
	var all []string
	for _, q := range smallerTokens(p) {
		all = append(all, q.String())
	}
	return all
}

// smallerTokens returns copies of a token. In each copy one filter in brackets is smaller or missing.
func smallerTokens(p token.Path) []token.Path {
	var all []token.Path
	change := func(i int, f *token.Filter) {
		q := p
		q.Hops = slices.Clone(p.Hops)
		q.Hops[i].Filter = f
		all = append(all, q)
	}
	for i, h := range p.Hops {
		if h.Filter == nil {
			continue
		}
		change(i, nil)
		for _, s := range smallerFilters(*h.Filter) {
			change(i, &s)
		}
	}
	return all
}
