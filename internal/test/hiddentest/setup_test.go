package hiddentest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// script is commands that fill a service, in order.
type script struct {
	s        *service
	commands []any
	labels   []string // of what they create, in order
}

type attrs = map[string]any

// create makes an asset. The label is its alias here and what Oids are kept under.
// Values may be labels.
func (p *script) create(label, typ string, values attrs) string {
	alias := "@" + label
	values = clean(values)
	values["AssetType"] = typ
	p.commands = append(p.commands, attrs{alias: values})
	p.labels = append(p.labels, label)
	return alias
}

// run runs an operation.
func (p *script) run(from, op string, args attrs) {
	p.commands = append(p.commands, attrs{"from": from, "execute": attrs{"op": op, "args": args}})
}

// update changes an asset.
func (p *script) update(from string, values attrs) {
	p.commands = append(p.commands, attrs{"from": from, "update": values})
}

// of is the Oid that a label stands for, in this script or one before.
func (p *script) of(label string) string {
	if o, ok := p.s.oids[label]; ok {
		return o
	}
	return "@" + label
}

// clean leaves out what has no value, in lists too.
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

// carryOut executes a script on the database, by engines of its own: they reserve
// ids in blocks, which end with them.
func (p *script) carryOut(t *testing.T) {
	t.Helper()
	creds, err := auth.New(p.s.d.Lookup(), model, auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := bulk.New(asset.New(p.s.d, model, creds, nil, nil), find.New(p.s.d, model))
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

// The sequences begin a new range for each part of the set-up, so that what is
// made afterwards gets the same of all in both services, however much the part
// has made.
const (
	partIDs   = 2000
	partRanks = 32 * 1000
)

// level moves all sequences to where a part of the set-up begins.
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

// sequence sets a sequence, which may not be there yet.
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

// raise moves a sequence that is in use.
func (s *service) raise(t *testing.T, name string, value int64) {
	t.Helper()
	if _, err := s.d.Exec(t.Context(), `UPDATE sequence SET value = ? WHERE name = ?`, value, name); err != nil {
		t.Fatal(err)
	}
}

// sequences are the sequences but those that a process reserves blocks of.
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

// callers are the members that send requests. None sees the project Vault, nor the
// project Deep below their own. A Project Admin sees all members, so it sends only
// what tells nothing of them.
var callers = map[string]string{"lee": "Role:4", "obs": "Role:8", "cus": "Role:7", "tes": "Role:6", "pam": "Role:2"}

// fillService makes a variant of the world: what lies around, what the callers see,
// and what hangs on that.
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

// caps hides as many assets of each rank space in both services, so that visible
// ones have the same neighbours.
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

// visible is what the callers see. What it names of the hidden differs.
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
	p.run("@story7", "Breakdown", attrs{}) // its epic is moved out of sight
	p.commands = append(p.commands, attrs{"from": "Epic", "where": attrs{"Name": "Story 7"}, "update": attrs{"Scope": p.of("vault")}})
	nearby(p, h)
}

// nearby is what the callers see around their backlog.
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
