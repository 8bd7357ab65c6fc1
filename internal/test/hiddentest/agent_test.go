package hiddentest

import (
	"encoding/json"
	"strconv"
)

// agentCalls returns a call of a tool for agents: a query, what happened to an asset, a difference of two times, a
// project, or names of the model.
func (g *maker) agentCalls() *request {
	tool, arguments := "query", map[string]any{}
	switch g.IntN(8) {
	case 0, 1:
		tool, arguments["asset"] = "history", g.oid(nil)
		if g.chance(30) {
			arguments["asset"] = g.number()
		}
		arguments["size"] = 1 + g.IntN(6)
	case 2:
		q := g.query()
		tool, arguments = "history", map[string]any{"from": q.From, "select": []string{"Name"}, "filter": q.Filter, "since": "2026-01-01"}
		if q.Where != nil {
			arguments["where"] = q.Where
		}
		if g.marks > 0 {
			arguments["since"] = "{mark" + strconv.Itoa(g.IntN(g.marks)) + "}"
		}
	case 3:
		tool, arguments["project"] = "context", g.name()
		if g.chance(50) {
			arguments["project"] = g.oid(nil)
		}
	case 4:
		tool, arguments["words"] = "describe", g.name()
	default:
		q := g.query()
		q.Page, q.Group, q.Total = nil, nil, false
		if g.chance(20) {
			q.From = g.number()
		}
		arguments = map[string]any{}
		if err := json.Unmarshal([]byte(q.String()), &arguments); err != nil {
			panic(err)
		}
		arguments["size"], arguments["structured"] = 1+g.IntN(9), g.chance(30)
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	if err != nil {
		panic(err)
	}
	return &request{
		method: "POST", path: "/mcp", body: string(body),
		header: map[string]string{"Accept": "application/json, text/event-stream", "Content-Type": "application/json"},
	}
}
