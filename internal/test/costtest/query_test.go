package costtest

import "github.com/alds-dev/alds/internal/model/meta"

// query makes a query for the body of a request.
func (g *maker) query() any {
	t := g.typ()
	q := dict{{"from", word(t.Name)}}
	switch {
	case g.chance(15):
		o := g.oid(t)
		q, t = dict{{"from", word(o)}}, typeOf(o)
	case g.chance(8):
		q = dict{{"from", and(word(t.Name+"["), g.filter(t), word("]"))}}
	}
	q = append(q, g.asked(t)...)
	if g.chance(12) {
		q.set("asof", word(g.oneOf("All All 2026-11-27T00:00:00 2020-01-01")))
	}
	switch {
	case g.chance(8):
		q.set("page", dict{{"size", g.count(100_000)}, {"after", word("")}})
	case g.chance(15):
		q.set("page", dict{{"size", g.count(1_000_000)}, {"start", g.IntN(100)}})
	}
	if g.chance(15) {
		q.set("total", true)
	}
	if g.chance(15) {
		q.set("group", many{g.count(10), dict{{"from", g.path(t, followed)}, {"select", list{word("Name")}}}, g.chance(50)})
	}
	if g.chance(90) {
		q.set("with", dict{{"$oids", g.values("Story:" + index)}, {"$numbers", g.values(index)}, {"$texts", g.values("a" + index)}})
	}
	return q
}

// asked makes the JSON keys and values that a query and a nested query can both have.
func (g *maker) asked(t *meta.Type) (q dict) {
	if g.chance(85) {
		q.set("select", g.selected(t))
	}
	if g.chance(50) {
		q.set("filter", g.several(200, g.filter(t)))
	}
	if g.chance(15) {
		q.set("where", dict{{g.path(t, compared).String(), g.text()}})
	}
	if g.chance(30) {
		q.set("sort", g.several(600, and(word(g.oneOf("+ -")), g.path(t, sorted))))
	}
	if g.chance(20) {
		q.set("find", g.text())
		if g.chance(60) {
			q.set("findin", g.several(300, g.path(t, searched)))
		}
	}
	return q
}

// several makes v alone, a list with v, or v repeated up to most times.
func (g *maker) several(most int, v any) any {
	switch g.IntN(3) {
	case 0:
		return v
	case 1:
		return list{v}
	}
	return many{g.count(most), v, g.chance(30)}
}

func (g *maker) selected(t *meta.Type) any {
	if g.chance(15) {
		return many{g.count(600), g.column(t), g.chance(30)}
	}
	var all list
	for range g.few(8) {
		all = append(all, g.column(t))
	}
	return all
}

// column makes an element of a select: a token or a nested query.
func (g *maker) column(t *meta.Type) any {
	if g.depth > 7 || !g.chance(20) {
		return g.path(t, shown)
	}
	g.depth++
	defer func() { g.depth-- }()
	p, a := g.walk(t, followed)
	if a.Related == nil {
		return p
	}
	return append(dict{{"from", p}}, g.asked(a.Related)...)
}

// values makes the values of a variable. of is the text of each value.
func (g *maker) values(of string) any {
	if g.chance(30) {
		return again(of, g.count(20_000), ",")
	}
	return many{g.count(20_000), word(of), g.chance(20)}
}
