package costtest

import "github.com/alds-dev/alds/internal/model/meta"

// products are functions that make requests whose work is the product of two numbers: two numbers of
// repetitions, or a number of repetitions and the number of stored assets.
var products = []func(*maker) *request{
	(*maker).replacements, (*maker).replacements,
	(*maker).aliases, (*maker).aliases,
	(*maker).listsInTerms, (*maker).textsInTerms, (*maker).countsInTerms, (*maker).searches,
	(*maker).listsOfArguments, (*maker).createsInUpdates, (*maker).valuesInUpdates, (*maker).queriesAsValues,
	(*maker).otherEnds, (*maker).copies, (*maker).failures, (*maker).merges, (*maker).selects, (*maker).readsInWrites,
	(*maker).siblings, (*maker).siblings,
}

func (g *maker) product() *request { return one(g, products)(g) }

// much returns a number of repetitions that is not higher than most. Half of the time it is in the upper
// half of the range. It is for requests that multiply this number with another number.
func (g *maker) much(most int) int {
	if g.chance(50) {
		return most/2 + 1 + g.IntN(most/2)
	}
	return g.count(most)
}

// long makes a text that consists of one short part, repeated often.
func (g *maker) long() text { return again(g.oneOf("a b x ab ü"), g.much(90_000), "") }

// everyone makes a query for many assets, and returns the type of the assets.
func (g *maker) everyone() (dict, *meta.Type) {
	t, _ := model.Type(g.oneOf("Story Story Task Workitem PrimaryWorkitem BaseAsset Defect Member Expression Scope Note RegressionTest"))
	d := dict{{"from", word(t.Name)}}
	if g.chance(15) {
		d.set("page", dict{{"size", g.count(1000)}})
	}
	return d, t
}

// heavy makes a query for an asset that has many related assets or a long text. It also returns the type.
func (g *maker) heavy() (dict, *meta.Type) {
	if g.chance(20) {
		return g.everyone()
	}
	o := one(g, g.w.heavy)
	return dict{{"from", word(o)}}, typeOf(o)
}

// together makes a request of one or a few commands. make returns one command.
func (g *maker) together(make func() any) *request {
	all := list{make()}
	for range g.few(4) - 1 {
		all = append(all, make())
	}
	r := post("/api/asset", g.jsonOrYAML(), all)
	switch g.IntN(10) {
	case 0:
		r.body = many{g.count(1000), all[0], g.chance(50)}
	case 1:
		r.params = dict{{"previewOnly", word("true")}}
	case 2:
		r.header, r.later = dict{{"Prefer", word("respond-async")}}, true
	}
	return r
}

// replacements makes a request that replaces a short text with a long text, in long texts that contain the
// short text many times.
func (g *maker) replacements() *request {
	return g.together(func() any {
		d, t := g.heavy()
		a, ok := t.Attr("Description")
		if !ok || g.chance(20) {
			a = g.attrOf(t, searched)
		}
		d.set("update", dict{{a.Name, dict{{"find", word(g.oneOf("a a b ab n x"))}, {"replace", g.long()}}}})
		return d
	})
}

// attrOf returns a random attribute that fits a use, or any attribute if it finds no such attribute.
func (g *maker) attrOf(t *meta.Type, u use) *meta.Attr {
	for range 100 {
		if a := g.attr(t); u.fits(a, a.Multi) {
			return a
		}
	}
	return g.attr(t)
}

// aliases makes a request in YAML that contains a long text once and refers to it many times by aliases.
func (g *maker) aliases() *request {
	all := many{g.much(15_000), g.long(), true}
	if g.chance(30) {
		all = many{g.much(1000), many{g.much(1000), g.long(), true}, true}
	}
	d, t := g.heavy()
	var r *request
	switch g.IntN(7) {
	case 0:
		r = post("/query.v1", asYAML, dict{{"from", word(t.Name)}, {"filter", word("Name=$texts")}, {"with", dict{{"$texts", all}}}})
	case 1:
		r = post("/query.v1", asYAML, dict{{"from", word(t.Name)}, {g.oneOf("select filter sort findin where"), all}})
	case 2:
		d.set("update", dict{{g.oneOf("TaggedWith Owners Description"), all}})
		r = post("/api/asset", asYAML, d)
	case 3:
		r = post("/api/asset", asYAML, many{g.much(3000), dict{{"AssetType", word("Story")}, {"Scope", word("Scope:0")}, {"Name", word("S")}, {"Description", g.long()}}, true})
	case 4:
		r = post("/api/tags/command/"+g.oneOf("remove merge"), asYAML, dict{{"removeFrom", all}, {"MergeFrom", all}, {"MergeTo", word("tag")}})
	case 5:
		r = post("/api/webhook"+g.oneOf("/preview /"), asYAML, dict{{"url", word("http://127.0.0.1:1/")}, {"eventTypes", list{dict{{"type", word("AssetChanged")}, {"from", word(t.Name)}, {g.oneOf("select filter attributes"), all}}}}})
	default:
		r = post("/api/asset", asYAML, all)
	}
	return r
}

// terms makes a query whose filter repeats the same comparison many times. values is the text after the
// operator. fits returns true for an attribute that may be compared.
func (g *maker) terms(values string, fits func(*meta.Attr) bool) *request {
	d, t := g.everyone()
	end := word("ID")
	for range 1000 {
		if p, a, _ := g.wander(t, compared); fits(a) {
			end = p
			break
		}
	}
	d.set("filter", many{g.much(200), and(end, word(g.oneOf("= = != < >=")+values)), g.chance(20)})
	if g.chance(20) {
		d = dict{{"from", word("Scope")}, {"select", many{g.few(8), dict{{"from", word("Workitems")}, {"filter", d.get("filter")}}, false}}}
	}
	return post("/query.v1", g.jsonOrYAML(), d)
}

// queried adds the values of variables to the query in a request.
func queried(r *request, with dict) *request {
	q := r.body.(dict)
	q.set("with", with)
	r.body, r.writes = q, false
	return r
}

// listsInTerms makes a query with many comparisons, each with a long list of values.
func (g *maker) listsInTerms() *request {
	of := func(a *meta.Attr) bool { return a.Kind == meta.Relation }
	values := "Story:" + index
	if g.chance(50) {
		of, values = func(a *meta.Attr) bool { return a.Kind == meta.Numeric }, index
	}
	if g.chance(30) {
		of, values = func(a *meta.Attr) bool { return a.Kind == meta.Text }, "a"+index
	}
	var with any = many{g.much(10_000), word(values), false}
	if g.chance(40) {
		with = again(values, g.much(10_000), ",")
	}
	return queried(g.terms("$list", of), dict{{"$list", with}})
}

// textsInTerms makes a query with many comparisons, each with long texts. In YAML each text is written
// once.
func (g *maker) textsInTerms() *request {
	r := g.terms("$texts", func(a *meta.Attr) bool { return a.Kind == meta.Text || a.Kind == meta.LongText })
	if g.chance(60) {
		r.form = asYAML
	}
	return queried(r, dict{{"$texts", many{g.much(1000), g.long(), true}}})
}

// countsInTerms makes a query that compares counts with lists of values.
func (g *maker) countsInTerms() *request {
	d, t := g.everyone()
	relation := g.path(t, followed)
	term := and(relation, word(g.oneOf(".@Count .@DistinctCount")), word(g.oneOf("= != < >= >")), again("'"+index+"'", g.much(1000), ","))
	d.set("filter", many{g.much(20), term, g.chance(20)})
	return readOnly(post("/query.v1", g.jsonOrYAML(), d))
}

func readOnly(r *request) *request {
	r.writes = false
	return r
}

// searches makes a query that searches for a long text in many attributes.
func (g *maker) searches() *request {
	d, t := g.everyone()
	d.set("find", g.long())
	d.set("findin", many{g.much(200), g.path(t, searched), g.chance(30)})
	if g.chance(30) {
		return readOnly(post("/query.v1", asYAML, many{g.much(200), d, true}))
	}
	return readOnly(post("/query.v1", g.jsonOrYAML(), d))
}

// listsOfArguments makes a request that executes an operation many times on each of many assets.
func (g *maker) listsOfArguments() *request {
	return g.together(func() any {
		d, _ := g.everyone()
		d.set("execute", dict{{"op", word(g.oneOf(operations))}, {"list", many{g.much(30_000), g.args(), g.chance(50)}}})
		return d
	})
}

// createsInUpdates makes a request that creates many assets for each of many assets.
func (g *maker) createsInUpdates() *request {
	return g.together(func() any {
		d, t := g.everyone()
		a, related := g.toMany(t)
		made := dict{{"AssetType", word(one(g, related.Concrete).Name)}, {"Name", g.text()}}
		if g.chance(30) {
			made = g.asset(one(g, related.Concrete).Name)
		}
		d.set("update", dict{{a.Name, many{g.much(2000), made, g.chance(30)}}})
		return d
	})
}

// toMany returns a random multi-value relation of a type, and the type that the relation refers to.
func (g *maker) toMany(t *meta.Type) (*meta.Attr, *meta.Type) {
	for range 100 {
		if a := g.attr(t); a.Kind == meta.Relation && a.Multi && a.Related != nil && len(a.Related.Concrete) > 0 {
			return a, a.Related
		}
	}
	a, _ := t.Attr("ID")
	return a, t
}

// valuesInUpdates makes a request that adds and removes many values, on each of many assets or on an asset
// that has many values.
func (g *maker) valuesInUpdates() *request {
	return g.together(func() any {
		d, t := g.everyone()
		if g.chance(30) {
			d, t = g.heavy()
		}
		set := dict{}
		for range g.few(3) {
			if tags, ok := t.Attr("TaggedWith"); ok && g.chance(50) {
				set.set(tags.Name, g.listed(word(g.oneOf("t t"+index))))
				continue
			}
			a, related := g.toMany(t)
			set.set(a.Name, g.listed(word(g.oid(related))))
		}
		d.set("update", set)
		return d
	})
}

// listed makes a long list of values for an update, or a dict that adds the list, removes it, or does both.
func (g *maker) listed(v any) any {
	all := many{g.much(20_000), v, g.chance(30)}
	switch g.IntN(4) {
	case 0:
		return dict{{"add", all}}
	case 1:
		return dict{{"remove", all}}
	case 2:
		return dict{{"add", all}, {"remove", many{g.much(20_000), v, false}}}
	}
	return all
}

// queriesAsValues makes a request that adds the results of a query to a relation many times.
func (g *maker) queriesAsValues() *request {
	return g.together(func() any {
		d, t := g.heavy()
		a, related := g.toMany(t)
		q := dict{{"from", word(related.Name)}}
		if g.chance(30) {
			q.set("filter", g.filter(related))
		}
		d.set("update", dict{{a.Name, g.listed(q)}})
		return d
	})
}

// otherEnds makes a request that changes many related assets: it sets a multi-value relation to many
// assets, or moves an asset that has many related assets.
func (g *maker) otherEnds() *request {
	return g.together(func() any {
		o := g.oid(nil)
		if g.chance(60) {
			o = one(g, g.w.oids[g.oneOf("Scope Scope Member Epic Story Timebox")])
		}
		t := typeOf(o)
		if g.chance(20) {
			return dict{{"from", word(o)}, {"update", dict{{g.oneOf("Scope Parent Super Timebox SecurityScope"), word(g.oid(nil))}}}}
		}
		a, related := g.toMany(t)
		return dict{{"from", word(o)}, {"update", dict{{a.Name, dict{{g.oneOf("add add remove"), dict{{"from", word(related.Name)}}}}}}}}
	})
}

// copies makes a request that copies large assets many times.
func (g *maker) copies() *request {
	return g.together(func() any {
		d, _ := g.heavy()
		d.set("execute", dict{{"op", word(g.oneOf("Copy Copy DeepCopy ShallowCopy MakeTemplate Split QuickClose Close Delete CopyAcceptanceTestsFromRegressionSuite"))}, {"list", many{g.much(2000), dict{}, g.chance(50)}}})
		return d
	})
}

// failures makes a request whose commands read much and then fail.
func (g *maker) failures() *request {
	r := g.together(func() any {
		d, _ := g.heavy()
		if g.chance(50) {
			d.set("execute", dict{{"op", word(g.oneOf(operations))}, {"list", many{g.much(2000), g.args(), false}}})
			return d
		}
		d.set("execute", dict{{"op", word(g.oneOf(operations))}})
		return d
	})
	if all, ok := r.body.(list); ok && g.chance(30) {
		r.body = many{g.much(2000), all[0], g.chance(50)}
	}
	return r
}

// merges makes a request that merges many tags into one, or removes many tags.
func (g *maker) merges() *request {
	all := many{g.much(5000), word("tag" + index), false}
	r := post("/api/tags/command/merge", g.jsonOrYAML(), dict{{"MergeTo", word(g.oneOf("tag tag0 one"))}, {"MergeFrom", all}})
	if g.chance(30) {
		r = post("/api/tags/command/remove", g.jsonOrYAML(), dict{{"removeFrom", all}})
	}
	return r
}

// selects makes a query with deeply nested selects along multi-value relations. The innermost select is a
// long list.
func (g *maker) selects() *request {
	d, t := g.everyone()
	var inner func(t *meta.Type, levels int) any
	inner = func(t *meta.Type, levels int) any {
		a, related := g.toMany(t)
		var columns any = many{g.few(300), g.path(related, shown), g.chance(20)}
		if levels > 0 {
			columns = list{g.path(related, shown), inner(related, levels-1)}
		}
		return dict{{"from", word(a.Name)}, {"select", columns}}
	}
	d.set("select", list{inner(t, g.IntN(8))})
	return readOnly(post("/query.v1", g.jsonOrYAML(), d))
}

// readsInWrites makes a request that contains slow queries and also writes.
func (g *maker) readsInWrites() *request {
	far := and(again(g.oneOf("Scope.Workitems Owners.OwnedWorkitems Super.SubsAndDown Scope.ParentMeAndUp.Workitems"), 1+g.IntN(5), "."), word(g.oneOf(".Name='x' .Description~='xy' .Number='x' .TaggedWith='x' .@Count='1'")))
	q := dict{{"from", word(g.oneOf("Story Workitem PrimaryWorkitem"))}, {"filter", list{far}}}
	made := g.asset("Story")
	if g.chance(50) {
		return post("/api/asset", asJSON, list{made, q})
	}
	d, t := g.heavy()
	a, _ := g.toMany(t)
	d.set("update", dict{{a.Name, dict{{"add", q}}}})
	return post("/api/asset", asJSON, list{made, d})
}

// siblings makes a query that reads texts of the siblings of many assets: each text is read for each of them.
func (g *maker) siblings() *request {
	d, _ := g.everyone()
	if g.chance(50) {
		d = dict{{"from", word("Story")}, {"where", dict{{"Scope", word(g.w.texts)}}}}
	}
	via := g.oneOf("Scope.Workitems Scope.Workitems:Story SecurityScope.Workitems Owners.OwnedWorkitems Super.Subs Parent.Children Dependencies.Dependants Links.Asset.Links")
	if g.chance(20) {
		via += "." + g.oneOf("Scope.Workitems Owners.OwnedWorkitems")
	}
	leaf := g.oneOf("Description Description Description Name Number Notes.Content TaggedWith")
	inner := dict{{"from", word(via)}, {"select", list{word(leaf)}}}
	if g.chance(50) {
		inner.set("sort", list{word(g.oneOf("Name -Name Description -Number ID"))})
	}
	switch g.IntN(4) {
	case 0:
		d.set("group", list{inner})
	case 1:
		d.set("select", list{inner})
	default:
		d.set("select", list{word(via + "." + leaf)})
	}
	if g.chance(10) {
		d.set("asof", word("All"))
	}
	return readOnly(post(g.oneOf("/query.v1 /query.v1 /api/asset"), g.jsonOrYAML(), d))
}
