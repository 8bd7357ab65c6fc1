package hiddentest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// script is a list of commands that create assets in a service.
type script struct {
	s        *service
	commands []any
	labels   []string // labels of the assets that the commands create, in order
}

type attrs = map[string]any

// create adds a command that creates an asset, and returns the alias of the asset in the script. The
// parameter label is later the key of the asset's Oid. Values may contain aliases.
func (p *script) create(label, typ string, values attrs) string {
	alias := "@" + label
	values = clean(values)
	values["AssetType"] = typ
	p.commands = append(p.commands, attrs{alias: values})
	p.labels = append(p.labels, label)
	return alias
}

// run adds a command that runs an operation.
func (p *script) run(from, op string, args attrs) {
	p.commands = append(p.commands, attrs{"from": from, "execute": attrs{"op": op, "args": args}})
}

// update adds a command that changes an asset.
func (p *script) update(from string, values attrs) {
	p.commands = append(p.commands, attrs{"from": from, "update": values})
}

// of returns the Oid of the asset with a label, if an earlier script has created the asset. Otherwise it
// returns the alias of the asset in this script.
func (p *script) of(label string) string {
	if o, ok := p.s.oids[label]; ok {
		return o
	}
	return "@" + label
}

// clean removes values that are nil, also from lists.
func clean(values attrs) attrs {
	for name, v := range values {
		switch v := v.(type) {
		case nil:
			delete(values, name)
		case []any:
			values[name] = slices.DeleteFunc(v, func(x any) bool { return x == nil })
		}
	}
	return values
}

// carryOut executes a script in the database with a new engine. An engine reserves ids in blocks. An older
// engine would still use ids that it reserved before the last call of level.
func (p *script) carryOut(t *testing.T) {
	t.Helper()
	creds, err := auth.New(p.s.d.Lookup(), model, auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := bulk.New(asset.New(p.s.d, model, creds, nil), find.New(p.s.d, model))
	body, err := json.Marshal(append([]any{attrs{"config": []string{"import", "atomic"}}}, p.commands...))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := e.Run(context.Background(), auth.System, bulk.Request{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	var done struct {
		AssetsCreated   struct{ OidTokens []string }
		CommandFailures struct {
			Count    int
			Commands []json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &done); err != nil || done.CommandFailures.Count > 0 {
		t.Fatalf("%v: %s", err, done.CommandFailures.Commands)
	}
	for i, o := range done.AssetsCreated.OidTokens {
		p.s.oids[p.labels[i]] = o
	}
}

// The assets are created in parts. Each part begins with new ranges of the sequences. So later parts get
// the same ids and ranks in both services, no matter how many assets an earlier part has created.
const (
	partIDs   = 2000
	partRanks = 32 * 1000
)

// level sets all sequences to the beginning of the ranges of a part.
func (s *service) level(t *testing.T, part int64) {
	t.Helper()
	to := map[string]int64{"id": 1000 + part*partIDs, "moment": 1000 + part*partIDs, "audit": part * partIDs}
	for _, typ := range model.Types {
		if typ.Abstract {
			continue
		}
		if typ.NumberPrefix != "" {
			to["number:"+typ.Name] = 1000 + part*partIDs
		}
		if _, ranked := typ.Attr("Order"); ranked {
			to["rank:"+typ.RankSpace] = 1<<24 + part*partRanks
		}
	}
	for name, value := range to {
		s.sequence(t, name, value)
	}
}

// sequence sets the value of a sequence. It creates the sequence if necessary.
func (s *service) sequence(t *testing.T, name string, value int64) {
	t.Helper()
	ctx := t.Context()
	_, err := s.d.Exec(ctx, `DELETE FROM sequence WHERE name = ?`, name)
	if err == nil {
		_, err = s.d.Exec(ctx, `INSERT INTO sequence (name, value, stamped_at) VALUES (?, ?, 0)`, name, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// moments returns the current moments of the initial assets.
func (s *service) moments(t *testing.T) (all []moment) {
	t.Helper()
	for _, label := range slices.Sorted(maps.Keys(s.oids)) {
		o := s.oids[label]
		_, id, _ := strings.Cut(o, ":")
		m := moment{oid: o}
		if err := s.d.QueryRow(t.Context(), `SELECT moment FROM asset WHERE id = ?`, id).Scan(&m.at); err != nil {
			t.Fatal(label, o, err)
		}
		all = append(all, m)
	}
	return all
}

// raise sets the value of a sequence while the service uses it.
func (s *service) raise(t *testing.T, name string, value int64) {
	t.Helper()
	if _, err := s.d.Exec(t.Context(), `UPDATE sequence SET value = ? WHERE name = ?`, value, name); err != nil {
		t.Fatal(err)
	}
}

// sequences returns the values of the sequences by name. It leaves out the sequences from which a process
// reserves blocks of values.
func (s *service) sequences(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	rows, err := s.d.Query(t.Context(), `SELECT name, value FROM sequence WHERE name NOT IN ('id', 'audit', 'webhook')`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value int64
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		all[name] = value
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// callers maps the members who send requests to their roles in the project Mine. They do not see the
// project vault or the hidden project below Mine. The Project Admin pam sees all members. So pam sends only
// requests whose replies do not show members.
var callers = map[string]string{"lee": "Role:4", "obs": "Role:8", "cus": "Role:7", "tes": "Role:6", "pam": "Role:2"}

// fillService returns a function that creates the assets of a service: hidden assets, visible assets, and
// hidden assets that refer to visible assets. variant is the number of the service. If leak is not empty,
// it is a role that the callers get in the project vault.
func fillService(variant int, leak string) func(t *testing.T, s *service) {
	return func(t *testing.T, s *service) {
		h := newHider(variant)
		parts := []func(p *script, h *hider){around, visible, onTop}
		for part, fill := range parts {
			s.level(t, int64(2*part))
			p := &script{s: s}
			fill(p, h)
			p.carryOut(t)
			s.level(t, int64(2*part+1))
			p = &script{s: s}
			caps(p, h, part)
			if part == 2 && leak != "" {
				lee := p.of("lee") // sees these without the project, too
				h.make(p, "Note", attrs{"Name": h.word(), "Content": h.word(), "Asset": h.must(p, "Story"), "Personal": true, "CreatedBy": lee})
				h.make(p, "Message", attrs{"Name": h.word(), "Asset": h.must(p, "Story"), "Recipients": []any{lee}})
				for name := range callers {
					p.run(s.oids["vault"], "AssignMemberWithRole", attrs{"Member": s.oids[name], "Role": leak, "IsOwner": false})
				}
			}
			p.carryOut(t)
		}
		s.level(t, 6)
		s.told = h.told
	}
}

// caps creates the same number of hidden assets in both services, in each group of types that share ranks.
// So the visible assets have neighbors with the same ranks in both services.
func caps(p *script, h *hider, part int) {
	vault := p.of("vault")
	for i := range 6 {
		label := func(typ string) string { return fmt.Sprintf("cap%s%d%d", typ, part, i) }
		for _, typ := range strings.Fields("Epic Theme Issue Request Story") {
			p.create(label(typ), typ, attrs{"Name": h.word(), "Scope": vault})
		}
		p.create(label("Task"), "Task", attrs{"Name": h.word(), "Parent": "@" + label("Story")})
	}
}

// visible creates the assets that the callers see. Their references to hidden assets differ between the
// services.
func visible(p *script, h *hider) {
	p.create("mine", "Scope", attrs{"Name": "Mine", "Parent": "Scope:0", "BeginDate": "2026-01-01"})
	p.create("sub", "Scope", attrs{"Name": "Sub", "Parent": "@mine", "BeginDate": "2026-01-01"})
	p.create("sched", "Schedule", attrs{"Name": "Rhythm"})
	p.create("sprint", "Timebox", attrs{"Name": "Sprint", "Schedule": "@sched", "State": "State:101", "BeginDate": "2026-02-01", "EndDate": "2026-02-15"})
	p.create("team", "Team", attrs{"Name": "Crew"})
	for _, name := range []string{"lee", "obs", "cus", "tes", "pam", "pal"} {
		p.create(name, "Member", attrs{"Name": name, "Nickname": name, "Username": name, "Password": "pass-" + name, "DefaultRole": "Role:0"})
		p.run("@mine", "AssignMemberWithRole", attrs{"Member": "@" + name, "Role": roleOf(name), "IsOwner": false})
	}
	for i := range 3 {
		p.create(fmt.Sprintf("epic%d", i), "Epic", attrs{"Name": fmt.Sprintf("Epic %d", i), "Scope": "@mine", "Super": h.some(p, "Epic"), "Swag": i + 1})
	}
	p.create("theme", "Theme", attrs{"Name": "Theme", "Scope": "@mine"})
	for i := range 8 {
		p.create(fmt.Sprintf("story%d", i), "Story", attrs{
			"Name": fmt.Sprintf("Story %d", i), "Scope": []string{"@mine", "@sub"}[i%2], "Estimate": i, "Description": "seen", "TaggedWith": []string{"common", fmt.Sprintf("tag%d", i%3)},
			"Super": pick[any](i%3 == 0, h.some(p, "Epic"), fmt.Sprintf("@epic%d", i%3)), "Owners": []any{"@" + []string{"lee", "pal", "cus"}[i%3], h.some(p, "Member")},
			"Dependencies": []any{h.some(p, "Story")}, "Timebox": "@sprint", "Customer": h.some(p, "Member"), "Status": "StoryStatus:134",
		})
		p.create(fmt.Sprintf("task%d", i), "Task", attrs{"Name": fmt.Sprintf("Task %d", i), "Parent": fmt.Sprintf("@story%d", i), "ToDo": i, "Owners": []string{"@lee"}})
	}
	p.run("@story7", "Breakdown", attrs{}) // creates an epic, and the next command hides this epic
	p.commands = append(p.commands, attrs{"from": "Epic", "where": attrs{"Name": "Story 7"}, "update": attrs{"Scope": p.of("vault")}})
	nearby(p, h)
}

// nearby creates further visible assets that refer to the assets of the backlog.
func nearby(p *script, h *hider) {
	for i := range 3 {
		p.create(fmt.Sprintf("defect%d", i), "Defect", attrs{"Name": fmt.Sprintf("Defect %d", i), "Scope": "@mine", "DuplicateOf": h.some(p, "Defect"), "VerifiedBy": h.some(p, "Member")})
		p.create(fmt.Sprintf("test%d", i), "Test", attrs{"Name": fmt.Sprintf("Test %d", i), "Parent": fmt.Sprintf("@defect%d", i)})
		p.create(fmt.Sprintf("goal%d", i), "Goal", attrs{"Name": fmt.Sprintf("Goal %d", i), "Scope": "@mine"})
		p.create(fmt.Sprintf("issue%d", i), "Issue", attrs{"Name": fmt.Sprintf("Issue %d", i), "Scope": "@mine", "Owner": h.some(p, "Member"), "BlockedPrimaryWorkitems": []any{fmt.Sprintf("@story%d", i), h.some(p, "Story")}})
		p.create(fmt.Sprintf("request%d", i), "Request", attrs{"Name": fmt.Sprintf("Request %d", i), "Scope": "@mine"})
	}
	p.create("plan", "RegressionPlan", attrs{"Name": "Plan", "Scope": "@mine"})
	p.create("suite", "RegressionSuite", attrs{"Name": "Suite", "RegressionPlan": "@plan"})
	p.create("rtest", "RegressionTest", attrs{"Name": "Again", "Scope": "@mine", "RegressionSuites": "@suite", "GeneratedFrom": h.some(p, "Test")})
	p.create("set", "TestSet", attrs{"Name": "Set", "Scope": "@mine", "RegressionSuite": "@suite"})
	p.create("note", "Note", attrs{"Name": "Note", "Asset": "@story0", "Content": "seen", "Personal": false})
	p.create("link", "Link", attrs{"Name": "Link", "Asset": "@story1", "URL": "https://example.org"})
	p.create("talk", "Conversation", attrs{"Participants": []any{"@lee", "@pal", h.some(p, "Member")}})
	p.create("said", "Expression", attrs{"Author": "@pal", "Content": "hello", "BelongsTo": "@talk", "Mentions": []any{"@story0", h.some(p, "Story")}})
	p.create("change", "ChangeSet", attrs{"Name": "Change", "PrimaryWorkitems": []any{"@story0", h.some(p, "Story")}})
	p.create("builds", "BuildProject", attrs{"Name": "Builds", "Scopes": []any{"@mine", h.some(p, "Scope")}})
	p.create("build", "BuildRun", attrs{"Name": "Build", "BuildProject": "@builds", "ChangeSets": []any{"@change", h.some(p, "ChangeSet")}})
	p.create("actual", "Actual", attrs{"Date": "2026-02-03", "Value": 2, "Member": "@lee", "Scope": "@mine", "Workitem": "@story0"})
}

func roleOf(name string) string {
	if role, ok := callers[name]; ok {
		return role
	}
	return "Role:4"
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
