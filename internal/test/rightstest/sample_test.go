package rightstest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
)

// combination is a set of properties that a cell shares with others. The first part names the
// properties, for example "right".
type combination [6]string

// pairs returns each pair of role, place, type, verb and path, and each action together with its
// outcome.
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

// rights returns the combinations on which rights depend, by kinds and by types.
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

// sample returns some of the cells, in their order. It covers each combination that any cell has.
// For a server, it covers only the pairs, because other tests compare servers and SQLite. If
// several cells cover a combination, sample prefers one with a rare outcome among the members.
// Rare outcomes show where rights begin and end.
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
