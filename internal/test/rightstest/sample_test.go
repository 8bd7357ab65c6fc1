package rightstest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
)

// combination is what a cell has in common with others. Its first part says what the
// others are: "who does it", for example.
type combination [6]string

// pairs are what roles, places, types, verbs and paths have in common two by two, and
// each thing that is done, with each of the ways in which it ends.
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

// rights are what rights depend on, by kinds and by types.
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

// sample returns some cells, in their order. There is one for each combination that any
// cell has; for a server, of whose answers other tests tell, for each of the pairs. Where
// several would do, it is more likely one that ends otherwise than the
// same does for most members: that is where rights begin and end.
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
