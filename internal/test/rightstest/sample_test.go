package rightstest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
)

// combination is a set of properties that several cells may share. Its first element says which properties
// these are, such as "right".
type combination [6]string

// pairs returns the pairs of role, place, type, verb and path of a cell. It also returns the combination of
// what the cell does and how it must end.
func (c *cell) pairs() []combination {
	all := []combination{{"what", c.typ, c.verb, c.path, c.name, c.want.how}}
	parts := [...]string{c.who.role, c.who.place, c.typ, c.verb, c.path}
	for i, a := range parts {
		for k, b := range parts[:i] {
			all = append(all, combination{strconv.Itoa(i*10 + k), a, b})
		}
	}
	return all
}

// rights returns the combinations of properties on which the rights of a cell depend.
func (c *cell) rights(kind string) []combination {
	own := "new"
	if len(c.slots) > 0 {
		own = strconv.FormatBool(c.slots[0].own != nil)
	}
	return []combination{
		{"whose", c.typ, c.verb, c.path, own, c.want.how},
		{"right", c.who.role, c.typ, c.verb, c.want.how},
		{"name", c.who.role, kind, c.verb, c.name},
		{"place", c.who.role, c.who.place, kind, c.verb, own},
	}
}

// sample returns some of the cells, in the same order. Every combination that a cell has is in the sample.
// For a server, only the pairs count, because other tests compare servers and SQLite. Of several cells with
// a combination, sample prefers one that ends differently for most other members. Such cells show where
// rights begin and end.
func (w *world) sample(all []*cell, onServer bool) []*cell {
	type class struct{ typ, verb, path, name string }
	count, same := map[class]int{}, map[class]map[string]int{}
	classOf := func(c *cell) class { return class{c.typ, c.verb, c.path, c.name} }
	for _, c := range all {
		k := classOf(c)
		if same[k] == nil {
			same[k] = map[string]int{}
		}
		count[k]++
		same[k][c.want.how]++
	}
	type drawn struct {
		i   int
		key float64
	}
	r := rand.New(rand.NewPCG(w.seed, 1))
	order := make([]drawn, len(all))
	for i, c := range all {
		k := classOf(c)
		order[i] = drawn{i, r.Float64() * float64(same[k][c.want.how]) / float64(count[k])}
	}
	slices.SortFunc(order, func(a, b drawn) int { return cmp.Compare(a.key, b.key) })
	covered := map[combination]bool{}
	taken := make([]bool, len(all))
	for _, d := range order {
		c := all[d.i]
		combinations := c.pairs()
		if !onServer {
			combinations = append(combinations, c.rights(w.rights.kindOf(c.typ, c.name))...)
		}
		for _, x := range combinations {
			if !covered[x] {
				covered[x], taken[d.i] = true, true
			}
		}
	}
	var some []*cell
	for i, c := range all {
		if taken[i] {
			some = append(some, c)
		}
	}
	w.t.Logf("%d of %d cells, for %d combinations", len(some), len(all), len(covered))
	return some
}
