package rightstest

import (
	"fmt"
	"slices"
	"strings"
)

// perRequest is how many commands a request has at most.
const perRequest = 500

// found creates the projects, the members with their roles, and the assets that other assets refer to.
func (w *world) found() {
	w.must(definitions...)
	w.base["root"] = &slot{thing: thing{typ: "Scope", in: []*project{root}}, oid: "Scope:0"}
	for _, p := range append(slices.Clone(projects), inner) {
		w.makeBase(p.name, "Scope", p, attrs{"Name": p.name, "Parent": "$" + p.up.name, "BeginDate": "2026-01-01"})
	}
	w.makeBase("schedule", "Schedule", target, attrs{"Name": "every week"})
	w.must(attrs{"from": w.base["target"].oid, "update": attrs{"Schedule": w.base["schedule"].oid}})
	w.makeBase("story", "Story", target, attrs{"Name": "base", "Scope": "$target"})
	w.makeBase("plan", "RegressionPlan", target, attrs{"Name": "base", "Scope": "$target"})
	w.makeBase("suite", "RegressionSuite", target, attrs{"Name": "base", "RegressionPlan": "$plan"})
	w.makeBase("test", "RegressionTest", target, attrs{"Name": "base", "Scope": "$target", "RegressionSuites": []any{"$suite"}})
	w.makeBase("build", "BuildProject", target, attrs{"Name": "base", "Scopes": []any{"$target"}})
	w.makeBase("message", "Message", target, attrs{"Name": "base", "Asset": "$story"})
	w.makeBase("other", "Member", nil, attrs{"Name": "other", "Nickname": "other", "DefaultRole": "Role:0"})
	w.must(w.role("other", "target", "Observer"))
	for _, role := range w.rights.order {
		for _, p := range places {
			w.makeMember(role, p.name, p.at)
		}
	}
}

func (w *world) makeBase(name, typ string, in *project, a attrs) {
	a["AssetType"] = typ
	s := &slot{thing: thing{typ: typ}}
	if in != nil {
		s.in = []*project{in}
	}
	s.oid = w.must(w.fill(nil, a)).AssetsCreated.OidTokens[0]
	w.base[name] = s
}

// role returns a command that gives a member a role in a project. The parameters of and in are the keys of
// the member and of the project in world.base.
func (w *world) role(of, in, role string) attrs {
	return attrs{"from": w.base[in].oid, "execute": attrs{"op": "AssignMemberWithRole", "args": attrs{"Member": w.base[of].oid, "Role": w.rights.role[role]}}}
}

func (w *world) makeMember(role, place string, at *project) {
	m := &member{role: role, place: place, at: at, login: fmt.Sprintf("m%d", len(w.members))}
	a := attrs{"AssetType": "Member", "Name": m.String(), "Nickname": m.String(), "Username": m.login, "Password": password, "DefaultRole": "Role:0"}
	if at == nil {
		a["DefaultRole"] = w.rights.role[role]
	}
	m.oid = w.must(a).AssetsCreated.OidTokens[0]
	w.base[m.login] = &slot{oid: m.oid}
	if at != nil {
		w.must(w.role(m.login, at.name, role))
	}
	w.members = append(w.members, m)
}

// makeSlots creates the assets that the cells use.
func (w *world) makeSlots() {
	for some := range slices.Chunk(w.slots, perRequest) {
		commands := []any{attrs{"config": attrs{"import": true}}}
		for _, s := range some {
			maker := s.by
			if maker == nil {
				maker = &member{oid: "Member:20"}
			}
			a := w.fill(&cell{who: maker}, s.attrs).(attrs)
			a["AssetType"] = s.typ
			if s.by != nil {
				a["CreatedBy"] = s.by.oid
			}
			commands = append(commands, a)
		}
		oids := w.must(commands...).AssetsCreated.OidTokens
		for _, s := range some {
			s.oid, oids = oids[0], oids[1:]
			if s.typ == "Schedule" { // the request has also created a project, which comes after the schedule
				oids = oids[1:]
			}
		}
		var first []any
		for _, s := range some {
			for _, op := range s.first {
				first = append(first, w.prepare(s, op))
			}
		}
		if len(first) > 0 {
			w.must(first...)
		}
	}
	now := w.moments(w.slots)
	for _, s := range w.slots {
		s.moment = now[s.oid]
	}
}

func (w *world) prepare(s *slot, op string) any {
	role := map[string]string{"join": "Observer", "lead": "Project Admin"}[op]
	if op == "set" {
		return attrs{"from": s.oid, "update": w.fill(&cell{who: &member{oid: "Member:20"}}, s.set)}
	}
	if role == "" {
		return attrs{"from": s.oid, "execute": op}
	}
	return attrs{"from": w.base["target"].oid, "execute": attrs{"op": "AssignMemberWithRole", "args": attrs{"Member": s.oid, "Role": w.rights.role[role]}}}
}

// always is a filter that matches assets in every state, also deleted ones.
const always = "AssetState='0','64','128','200','208','255'"

// moments returns the current moment of each asset. The key is its Oid.
func (w *world) moments(slots []*slot) map[string]string {
	byType := map[string][]string{}
	for _, s := range slots {
		byType[s.typ] = append(byType[s.typ], s.oid)
	}
	all := map[string]string{}
	for typ, oids := range byType {
		for some := range slices.Chunk(oids, perRequest) {
			b := w.must(attrs{"from": typ, "filter": []any{always, "ID='" + strings.Join(some, "','") + "'"}, "select": []any{"Moment"}})
			for _, row := range b.QueryResult.Results[0] {
				all[row["_oid"].(string)] = fmt.Sprint(row["Moment"])
			}
		}
	}
	for _, s := range slots {
		if all[s.oid] == "" {
			w.t.Fatalf("%s is not there any more", s.oid)
		}
	}
	return all
}
