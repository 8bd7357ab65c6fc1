package costtest

// agentCall makes a call of a tool for agents, or asks for a resource or a prompt. A call plans changes and
// never applies them, because the effect of a plan is not in the request.
func (g *maker) agentCall() *request {
	tool, arguments := "query", dict{}
	switch g.IntN(9) {
	case 0:
		tool, arguments = "plan", dict{{"commands", g.commands()}, {"comment", g.text()}}
	case 1:
		tool, arguments = "plan", dict{{"undo", dict{{"requestId", list(some(g, 20, func() any { return word(one(g, g.w.writes)) }))}}}}
	case 2:
		tool, arguments = "history", dict{{"asset", word(g.oid(nil))}, {"size", g.count(500)}}
		if g.chance(40) {
			arguments = dict{{"request", word(one(g, g.w.writes))}}
		}
	case 3:
		q, _ := g.query().(dict)
		tool, arguments = "history", dict{{"from", q.get("from")}, {"select", q.get("select")}, {"filter", q.get("filter")}, {"since", word(g.oneOf("2020-01-01 2026-11-27T00:00:00"))}, {"size", g.count(500)}}
	case 4:
		t := g.typ()
		tool, arguments = "changes", dict{{"from", word(t.Name)}, {"filter", g.filter(t)}, {"select", again(g.path(t, shown).String(), g.count(500), ",")}, {"size", g.count(500)}}
	case 5:
		tool, arguments = "describe", dict{{g.oneOf("words names"), g.text()}}
	case 6:
		tool, arguments = "context", dict{{"project", word(one(g, g.w.oids["Scope"]))}}
	default:
		arguments, _ = g.query().(dict)
		arguments.set("size", g.count(500))
		arguments.set("structured", g.chance(30))
	}
	body := dict{{"method", word("tools/call")}, {"params", dict{{"name", word(tool)}, {"arguments", arguments}}}}
	switch g.IntN(12) {
	case 0:
		body = dict{{"method", word("resources/read")}, {"params", dict{{"uri", and(word("alds://"+g.oneOf("item/ model/ grammar")), g.text())}}}}
	case 1:
		body = dict{{"method", word("prompts/get")}, {"params", dict{{"name", word("triage")}, {"arguments", dict{{"project", g.text()}}}}}}
	}
	r := post("/mcp", asJSON, append(dict{{"jsonrpc", word("2.0")}, {"id", 1}}, body...))
	r.header = dict{{"Accept", word("application/json, text/event-stream")}}
	return r
}

// proposal makes a request about proposals: it keeps a plan, reads, renews, applies or declines a proposal.
func (g *maker) proposal() *request {
	o := one(g, g.w.proposals)
	switch g.IntN(6) {
	case 0:
		return post("/api/proposals", g.jsonOrYAML(), dict{{"plan", word(one(g, g.w.plans))}, {"name", g.text()}, {"scope", word("Scope:0")}, {"description", g.text()}})
	case 1:
		return post("/api/proposals/"+o, asJSON, dict{})
	case 2:
		r := post("/api/asset", asJSON, dict{})
		r.form, r.body = "", nil
		r.params = dict{{"plan", word(one(g, g.w.kept))}}
		return r
	case 3:
		return post("/api/asset", asJSON, dict{{"from", word(o)}, {"execute", word("Decline")}})
	case 4:
		return get("/api/plans/"+one(g, g.w.plans), nil)
	}
	return get("/api/proposals/"+o, nil)
}

// propose makes plans of different sizes as the administrator, and keeps every second one as a proposal.
func (s *service) propose(stories []string) {
	text := s.w.heavy[0]
	for i, commands := range [][]attrs{
		{{"from": "Story", "update": attrs{"Reference": "planned"}}},
		{{"from": "Task", "update": attrs{"ToDo": 3}}},
		{{"from": text, "update": attrs{"Description": attrs{"find": "aa", "replace": "ab"}}}},
		{{"from": text, "update": attrs{"Description": attrs{"find": "aaa", "replace": "b"}}}},
		{{"from": "Story", "filter": []string{"Name~='Story'"}, "update": attrs{"Name": "planned", "Reference": "planned", "Description": attrs{"find": "a", "replace": "b"}}}},
		{{"from": stories[0], "update": attrs{"Name": "planned"}}},
	} {
		var planned struct{ Plan string }
		s.ask("POST", "/api/asset?previewOnly=true&plan=true", commands, &planned)
		if i%2 == 1 {
			s.w.plans = append(s.w.plans, planned.Plan)
			continue
		}
		var kept struct{ Proposal, Plan string }
		s.ask("POST", "/api/proposals", attrs{"plan": planned.Plan, "name": "Proposal", "scope": "Scope:0"}, &kept)
		s.w.proposals, s.w.kept = append(s.w.proposals, kept.Proposal), append(s.w.kept, kept.Plan)
	}
}
