package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// id returns the stored id of an asset that the world has made.
func (w *world) id(name string) int64 {
	w.t.Helper()
	_, text, _ := strings.Cut(w.made[name], ":")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// member returns a new member with a role in some projects.
func (w *world) member(name string, role meta.Role, projects ...string) auth.Actor {
	w.t.Helper()
	w.make(name, "Member", `"Nickname":"`+name+`","DefaultRole":"Role:0"`)
	a := auth.Actor{Member: w.id(name), Held: meta.RolesOf(role)}
	for _, p := range projects { // in the order of their ids
		a.Scopes, a.Roles = append(a.Scopes, w.id(p)), append(a.Roles, role)
	}
	return a
}

// kept is the answer to a request that keeps a plan.
type kept struct{ Proposal, Plan string }

// keep makes a plan of some commands and keeps it as a proposal with a name.
func (w *world) keep(who auth.Actor, name, scope, commands string) (k kept) {
	w.t.Helper()
	p := w.propose(who, w.commands(commands))
	b, err := w.plan.Propose(w.t.Context(), who, []byte(w.named(`{"plan":"`+p.Plan+`","name":"`+name+`","scope":"<`+scope+`>"}`)), false)
	if err != nil {
		w.t.Fatalf("%s: %v", commands, err)
	}
	w.read(b, &k)
	w.made[name] = k.Proposal
	return k
}

// selected returns an attribute of an asset as a text.
func (w *world) selected(token, attr string) string {
	w.t.Helper()
	b, err := w.bulk.Run(w.t.Context(), auth.System, bulk.Request{Body: []byte(`{"from":"` + token + `","select":["` + attr + `"]}`)})
	var found struct {
		QueryResult struct{ Results [][]map[string]any }
	}
	if err == nil {
		err = json.Unmarshal(b, &found)
	}
	if err != nil || len(found.QueryResult.Results) != 1 || len(found.QueryResult.Results[0]) != 1 {
		w.t.Fatalf("%s: %s %v", token, b, err)
	}
	v := found.QueryResult.Results[0][0][attr]
	if o, ok := v.(map[string]any); ok {
		v = o["_oid"]
	}
	return fmt.Sprint(v)
}

// TestAProposal is made by one member and applied by another. An undo of that opens it again.
func TestAProposal(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		dev, lead := w.member("dev", 5, "shop"), w.member("lead", 2, "shop")
		commands := `[{"from":"<a>","update":{"Name":"A"}},{"AssetType":"Note","Name":"why","Asset":"<a>","Content":"because","Personal":false}]`
		k := w.keep(dev, "p", "shop", commands)
		for attr, want := range map[string]string{"Plan": k.Plan, "ProposedBy": w.made["dev"], "AssetState": "Active", "Number": "P-01001"} {
			if got := w.selected(k.Proposal, attr); got != want {
				t.Errorf("%s is %s, want %s", attr, got, want)
			}
		}
		var shown planned
		b, err := w.plan.Show(t.Context(), lead, k.Proposal)
		if err != nil {
			t.Fatal(err)
		}
		w.read(b, &shown)
		want := []string{
			w.named(`{"asset":"<a>","attribute":"Name","old":"a","new":"A"}`),
			`{"asset":"Note:+1","created":true}`, `{"asset":"Note:+1","attribute":"Asset","old":null,"new":"` + w.made["a"] + `"}`,
			`{"asset":"Note:+1","attribute":"Author","old":null,"new":"@caller"}`,
			`{"asset":"Note:+1","attribute":"Content","old":null,"new":"because"}`,
			`{"asset":"Note:+1","attribute":"Name","old":null,"new":"why"}`,
			`{"asset":"Note:+1","attribute":"Personal","old":null,"new":false}`,
		}
		if diff := cmp.Diff(want, shown.lines()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}

		rows := w.rows()
		answer, differs := w.apply(lead, k.Plan)
		if differs != nil {
			t.Fatalf("%s", differs)
		}
		var done struct {
			RequestID     string
			AssetsCreated struct{ OIDTokens []string }
		}
		w.read(answer, &done)
		note := done.AssetsCreated.OIDTokens[0]
		for _, c := range [][3]string{
			{k.Proposal, "AssetState", "Closed"},
			{k.Proposal, "Decision", "Applied"},
			{k.Proposal, "DecidedBy", w.made["lead"]},
			{w.made["a"], "Name", "A"},
			{w.made["a"], "ChangedBy", w.made["lead"]},
			{w.made["a"], "ChangeReason", k.Proposal},
			{note, "Author", w.made["lead"]},
			{note, "CreatedBy", w.made["lead"]},
			{note, "CreateReason", k.Proposal},
		} {
			if got := w.selected(c[0], c[1]); got != c[2] {
				t.Errorf("%s.%s is %s, want %s", c[0], c[1], got, c[2])
			}
		}
		if again, _ := w.apply(lead, k.Plan); !bytes.Equal(again, answer) {
			t.Errorf("the repetition answers %s", again)
		}
		if b, err := w.plan.Apply(t.Context(), auth.System, k.Plan); err == nil {
			t.Errorf("a second member applies it again: %s", b)
		}
		if b, err := w.plan.Renew(t.Context(), dev, k.Proposal, nil, false); fault.KindOf(err) != fault.Conflict && fault.KindOf(err) != fault.Invalid {
			t.Errorf("an applied proposal is renewed: %s %v", b, err)
		}

		undo := bulk.Request{Undo: true, Body: []byte(`{"requestId":"` + done.RequestID + `"}`)}
		if _, differs := w.apply(lead, w.propose(lead, undo).Plan); differs != nil {
			t.Fatalf("%s", differs)
		}
		for attr, want := range map[string]string{"AssetState": "Active", "Decision": "<nil>", "DecidedBy": "NULL"} {
			if got := w.selected(k.Proposal, attr); got != want {
				t.Errorf("after the undo %s is %s, want %s", attr, got, want)
			}
		}
		var shownAgain struct{ Plan *string }
		if b, err = w.plan.Show(t.Context(), lead, k.Proposal); err != nil {
			t.Fatal(err)
		}
		if w.read(b, &shownAgain); shownAgain.Plan != nil {
			t.Errorf("its plan can be used again: %s", b)
		}
		if again, _ := w.apply(lead, k.Plan); !bytes.Equal(again, answer) || w.selected(w.made["a"], "Name") != "a" {
			t.Errorf("the used plan: %s", again)
		}
		if b, err = w.plan.Renew(t.Context(), lead, k.Proposal, nil, false); err != nil {
			t.Fatal(err)
		}
		w.read(b, &k)
		if _, differs := w.apply(dev, k.Plan); differs != nil || w.selected(w.made["a"], "Name") != "A" {
			t.Errorf("applied by another member after the undo: %s", differs)
		}
		if cmp.Equal(rows, w.rows()) {
			t.Error("nothing was written")
		}
	})
}

// TestAProposedProject belongs to the member who applies its proposal.
func TestAProposedProject(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		one, two := w.member("one", 2, "shop"), w.member("two", 2, "shop")
		k := w.keep(one, "p", "shop", `[{"AssetType":"Scope","Name":"till","Parent":"<shop>","BeginDate":"2026-01-01"}]`)
		answer, differs := w.apply(two, k.Plan)
		if differs != nil {
			t.Fatal(differs)
		}
		var made struct{ AssetsCreated struct{ OIDTokens []string } }
		w.read(answer, &made)
		w.made["till"] = made.AssetsCreated.OIDTokens[0]
		members, err := db.Column[int64](t.Context(), w.d, `SELECT member_id FROM scope_member WHERE scope_id = ?`, w.id("till"))
		if err != nil || !cmp.Equal(members, []int64{w.id("two")}) {
			t.Errorf("the members are %v, %v", members, err)
		}
	})
}

// TestWhoSeesAProposal shows of an effect what the member sees, and counts the rest.
func TestWhoSeesAProposal(t *testing.T) {
	each(t, func(w *world) {
		w.make("open", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("closed", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		for _, name := range []string{"a", "b"} {
			w.make(name, "Story", `"Scope":"<open>"`)
		}
		w.make("secret", "Epic", `"Scope":"<closed>"`)
		w.make("s", "Story", `"Scope":"<closed>"`)
		both, one, none := w.member("both", 2, "open", "closed"), w.member("one", 2, "open"), w.member("none", 2)
		k := w.keep(both, "p", "open", `[
			{"from":"<a>","update":{"Name":"A","Super":"<secret>"}},
			{"from":"<b>","update":{"Owners":["<both>","<one>"]}},
			{"from":"<s>","update":{"Name":"S"}},
			{"AssetType":"Story","Name":"n","Scope":"<open>"},
			{"@x":{"AssetType":"Story","Name":"x","Scope":"<closed>"}},
			{"AssetType":"Task","Name":"t","Parent":"@x"},
			{"from":"<s>","execute":"Delete"}]`)
		var shown planned
		b, err := w.plan.Show(t.Context(), one, k.Proposal)
		if err != nil {
			t.Fatal(err)
		}
		w.read(b, &shown)
		text := strings.Join(shown.lines(), "\n")
		for _, has := range []string{
			`{"asset":"<a>","attribute":"Name","old":"a","new":"A"}`, `{"asset":"Story:+1","attribute":"Name","old":null,"new":"n"}`,
		} {
			if !strings.Contains(text, w.named(has)) {
				t.Errorf("no line %s in\n%s", has, text)
			}
		}
		for _, hidden := range []string{"secret", "closed", "s"} {
			if strings.Contains(string(b), strconv.Quote(w.made[hidden])) {
				t.Errorf("%s is told:\n%s", hidden, text)
			}
		}
		for _, hidden := range []string{`"x"`, `"t"`, `"S"`, "Task"} {
			if strings.Contains(string(b), hidden) {
				t.Errorf("%s is told:\n%s", hidden, b)
			}
		}
		if shown.Size.Hidden < 5 || strings.Contains(string(b), "subscriptions") {
			t.Errorf("%s", b)
		}
		if b, err := w.plan.Show(t.Context(), none, k.Proposal); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s %v", b, err)
		}
		for _, token := range []string{"Proposal:1", "Story:1005", "x", w.made["a"], k.Proposal + ":1"} {
			if b, err := w.plan.Show(t.Context(), auth.System, token); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: %s %v", token, b, err)
			}
		}
		if b, err := w.plan.Apply(t.Context(), none, k.Plan); fault.KindOf(err) != fault.NotFound {
			t.Errorf("applied by a member who does not see it: %s %v", b, err)
		}
		rows := w.rows()
		b, err = w.plan.Apply(t.Context(), one, k.Plan)
		if fault.KindOf(err) != fault.Denied || !cmp.Equal(rows, w.rows()) {
			t.Fatalf("applied by a member who does not see everything: %s %v", b, err)
		}
		all := w.member("all", 2, "open", "closed")
		if _, differs := w.apply(all, k.Plan); differs != nil {
			t.Errorf("%s", differs)
		}
	})
}

// TestARenewedProposal is applied only by its newest plan, and only if the effect is still the same.
func TestARenewedProposal(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		dev, lead, other := w.member("dev", 5, "shop"), w.member("lead", 3, "shop"), w.member("other", 5, "shop")
		k := w.keep(dev, "p", "shop", `{"from":"<a>","update":{"Estimate":3}}`)
		w.run(auth.System, `{"from":"<a>","update":{"Estimate":2}}`)
		if _, differs := w.apply(lead, k.Plan); len(differs) != 2 {
			t.Errorf("differs %q", differs)
		}
		if b, err := w.plan.Renew(t.Context(), other, k.Proposal, nil, false); fault.KindOf(err) != fault.Denied {
			t.Errorf("renewed by another developer: %s %v", b, err)
		}
		renew := func(who auth.Actor, body string) (now kept) {
			t.Helper()
			b, err := w.plan.Renew(t.Context(), who, k.Proposal, []byte(body), false)
			if err != nil {
				t.Fatal(err)
			}
			w.read(b, &now)
			return now
		}
		second := renew(dev, "")
		if b, err := w.plan.Apply(t.Context(), lead, k.Plan); fault.KindOf(err) != fault.NotFound {
			t.Errorf("the first plan: %s %v", b, err)
		}
		third := renew(lead, `{"plan":"`+w.propose(lead, w.commands(`{"from":"<a>","update":{"Estimate":5}}`)).Plan+`"}`)
		if b, err := w.plan.Apply(t.Context(), lead, second.Plan); fault.KindOf(err) != fault.NotFound {
			t.Errorf("the second plan: %s %v", b, err)
		}
		if b, err := w.plan.Apply(t.Context(), other, third.Plan); fault.KindOf(err) != fault.Denied {
			t.Errorf("applied by another developer: %s %v", b, err)
		}
		if _, differs := w.apply(dev, third.Plan); differs != nil || w.selected(w.made["a"], "Estimate") != "5" {
			t.Errorf("%s", differs)
		}
		if got := w.selected(k.Proposal, "ProposedBy"); got != w.made["dev"] {
			t.Errorf("proposed by %s", got)
		}
	})
}

// TestADecidedProposal cannot be applied or changed.
func TestADecidedProposal(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		dev := w.member("dev", 5, "shop")
		for op, commands := range map[string]string{"declined": `{"from":"<declined>","execute":"Decline"}`, "deleted": `{"from":"<deleted>","execute":"Delete"}`} {
			k := w.keep(dev, op, "shop", `{"from":"<a>","update":{"Estimate":3}}`)
			w.run(dev, commands)
			rows := w.rows()
			if b, err := w.plan.Apply(t.Context(), auth.System, k.Plan); err == nil || !cmp.Equal(rows, w.rows()) {
				t.Errorf("%s: applied: %s", op, b)
			}
			if b, err := w.plan.Renew(t.Context(), dev, k.Proposal, nil, false); err == nil || !cmp.Equal(rows, w.rows()) {
				t.Errorf("%s: renewed: %s", op, b)
			}
		}
		// No other request applies a proposal.
		k := w.keep(dev, "p", "shop", `{"from":"<a>","update":{"Estimate":3}}`)
		for _, commands := range []string{
			`{"from":"<p>","execute":"Apply"}`, `{"from":"<p>","update":{"Plan":"` + k.Plan + `"}}`, `{"from":"<p>","update":{"Decision":"Applied"}}`,
			`{"from":"<p>","update":{"ProposedBy":"Member:20"}}`, `{"AssetType":"Proposal","Name":"x","Scope":"<shop>","Plan":"` + k.Plan + `"}`,
		} {
			b, err := w.bulk.Run(t.Context(), auth.System, bulk.Request{Body: []byte(w.named(commands))})
			if err != nil || bytes.Contains(b, []byte(`"commandFailures":{"commands":[],`)) {
				t.Errorf("%s: %s %v", commands, b, err)
			}
		}
		// A proposal that was made like any other asset has no plan.
		w.make("bare", "Proposal", `"Scope":"<shop>"`)
		if b, err := w.plan.Show(t.Context(), auth.System, w.made["bare"]); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s %v", b, err)
		}
		if b, err := w.plan.Renew(t.Context(), auth.System, w.made["bare"], nil, false); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s %v", b, err)
		}
	})
}

// TestWhatIsNotProposed refuses other bodies, plans that cannot be kept, and too many proposals.
func TestWhatIsNotProposed(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("hidden", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		dev, lead := w.member("dev", 5, "shop"), w.member("lead", 3, "shop")
		p := w.propose(dev, w.commands(`{"from":"<a>","update":{"Name":"A"}}`)).Plan
		body := func(plan, scope string) string {
			return `{"plan":"` + plan + `","name":"n","scope":"` + w.named(scope) + `"}`
		}
		for _, c := range []struct {
			who  auth.Actor
			body string
			kind fault.Kind
		}{
			{dev, `{"plan":"` + p + `","name":"n"}`, fault.Invalid},
			{dev, `{"name":"n","scope":"Scope:0"}`, fault.Invalid},
			{dev, `[]`, fault.Invalid},
			{dev, `{"plan":1,"name":"n","scope":"Scope:0"}`, fault.Invalid},
			{dev, `{"plan":"` + p + `","plan":"` + p + `","name":"n","scope":"Scope:0"}`, fault.Invalid},
			{dev, `{"plan":"` + p + `","name":"n","scope":"Scope:0","owner":"x"}`, fault.Invalid},
			{dev, body("x", "<shop>"), fault.NotFound},
			{lead, body(p, "<shop>"), fault.NotFound},
			{dev, body(p, "<hidden>"), fault.Invalid},
			{dev, body(p, "Story:1"), fault.Invalid},
		} {
			rows := w.rows()
			if b, err := w.plan.Propose(t.Context(), c.who, []byte(c.body), false); fault.KindOf(err) != c.kind || !cmp.Equal(rows, w.rows()) {
				t.Errorf("%s: %s %v", c.body, b, err)
			}
		}
		first, err := w.plan.Propose(t.Context(), dev, []byte(body(p, "<shop>")), false)
		second, err2 := w.plan.Propose(t.Context(), dev, []byte(body(p, "<shop>")), false)
		if err != nil || err2 != nil || !bytes.Equal(first, second) {
			t.Errorf("kept twice: %s %v, %s %v", first, err, second, err2)
		}
		if b, err := w.plan.Apply(t.Context(), dev, p); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a plan that is kept is carried out: %s %v", b, err)
		}
		applied := w.propose(dev, w.commands(`{"from":"<a>","update":{"Name":"B"}}`)).Plan
		w.apply(dev, applied)
		if b, err := w.plan.Propose(t.Context(), dev, []byte(body(applied, "<shop>")), false); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a plan that was carried out is kept: %s %v", b, err)
		}
		if _, err := w.d.Exec(t.Context(), `UPDATE proposal SET member_id = ?`, dev.Member); err != nil {
			t.Fatal(err)
		}
		for i := range 99 {
			w.keep(dev, fmt.Sprint("p", i), "shop", fmt.Sprintf(`{"from":"<a>","update":{"Reference":"%d"}}`, i))
		}
		p = w.propose(dev, w.commands(`{"from":"<a>","update":{"Name":"C"}}`)).Plan
		if b, err := w.plan.Propose(t.Context(), dev, []byte(body(p, "<shop>")), false); fault.KindOf(err) != fault.Invalid {
			t.Errorf("one too many: %s %v", b, err)
		}
		w.run(dev, `{"from":"<p7>","execute":"Decline"}`)
		if _, err := w.plan.Propose(t.Context(), dev, []byte(body(p, "<shop>")), false); err != nil {
			t.Error(err)
		}
	})
}

// TestATokenThatProposes writes in no other way.
func TestATokenThatProposes(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		agent := w.member("agent", 4, "shop")
		agent.Bounds, agent.Token = &auth.Bounds{Writes: auth.ProposedWrites}, "01980000-0000-7000-8000-000000000001"
		if b, err := w.bulk.Run(t.Context(), agent, bulk.Request{Body: []byte(w.named(`{"from":"<a>","update":{"Name":"A"}}`))}); fault.KindOf(err) != fault.Denied {
			t.Errorf("writes: %s %v", b, err)
		}
		p := w.propose(agent, w.commands(`{"from":"<a>","update":{"Name":"A"}}`))
		if b, err := w.plan.Apply(t.Context(), agent, p.Plan); fault.KindOf(err) != fault.Denied {
			t.Errorf("carries a plan out: %s %v", b, err)
		}
		k := w.keep(agent, "p", "shop", `{"from":"<a>","update":{"Name":"A"}}`)
		if b, err := w.plan.Apply(t.Context(), agent, k.Plan); fault.KindOf(err) != fault.Denied {
			t.Errorf("applies its proposal: %s %v", b, err)
		}
		if _, err := w.plan.Renew(t.Context(), agent, k.Proposal, nil, false); err != nil {
			t.Error(err)
		}
		agent.Bounds = &auth.Bounds{Writes: auth.NoWrites}
		p = w.propose(agent, w.commands(`{"from":"<a>","update":{"Name":"B"}}`))
		if b, err := w.plan.Propose(t.Context(), agent, []byte(w.named(`{"plan":"`+p.Plan+`","name":"n","scope":"<shop>"}`)), false); fault.KindOf(err) != fault.Denied {
			t.Errorf("a token that only reads proposes: %s %v", b, err)
		}
	})
}

// TestRefusedCommandsAreNotProposed, because others would read them in the answer.
func TestRefusedCommandsAreNotProposed(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		dev := w.member("dev", 5, "shop")
		p := w.propose(dev, w.commands(`[{"from":"<a>","update":{"Name":"A"}},{"from":"<a>","update":{"Description":"d","Estimate":"x"}}]`))
		if b, err := w.plan.Propose(t.Context(), dev, []byte(w.named(`{"plan":"`+p.Plan+`","name":"n","scope":"<shop>"}`)), false); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s %v", b, err)
		}
	})
}

// TestWhoAppliesSeesEverything shows to a member all new assets that the member would create, and refuses the rest.
func TestWhoAppliesSeesEverything(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("closed", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		dev, lead := w.member("dev", 5, "shop", "closed"), w.member("lead", 2, "shop")
		for i, c := range []struct{ commands, shown string }{
			{`{"AssetType":"Note","Name":"n","Asset":"<a>","Content":"diary","Personal":true}`, "diary"},
			{`[{"@m":{"AssetType":"Message","Name":"you are fired","Recipients":["<dev>"]}},{"from":"@m","execute":"Send"}]`, "you are fired"},
			{`{"AssetType":"Expression","Content":"said","Mentions":["<a>"]}`, "said"},
			{`{"AssetType":"Story","Name":"x","Scope":"<closed>"}`, ""},
		} {
			k := w.keep(dev, fmt.Sprint("p", i), "shop", c.commands)
			b, err := w.plan.Show(t.Context(), lead, k.Proposal)
			if err != nil || !strings.Contains(string(b), c.shown) {
				t.Errorf("%s: %s %v", c.commands, b, err)
			}
			rows := w.rows()
			b, err = w.plan.Apply(t.Context(), lead, k.Plan)
			if c.shown == "" && (fault.KindOf(err) != fault.Denied || !cmp.Equal(rows, w.rows())) || c.shown != "" && err != nil {
				t.Errorf("%s: %s %v", c.commands, b, err)
			}
		}
	})
}

// TestAnUndoOfTheDecision does not let a proposal be applied twice.
func TestAnUndoOfTheDecision(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		dev, lead := w.member("dev", 5, "shop"), w.member("lead", 2, "shop")
		k := w.keep(dev, "p", "shop", `{"AssetType":"Story","Name":"once","Scope":"<shop>"}`)
		w.apply(dev, k.Plan)
		undo := bulk.Request{Undo: true, Body: []byte(`{"asset":"` + k.Proposal + `","moment":` + w.selected(k.Proposal, "Moment") + `}`)}
		w.apply(dev, w.propose(dev, undo).Plan)
		for _, who := range []auth.Actor{dev, lead} {
			_, _ = w.plan.Apply(t.Context(), who, k.Plan)
		}
		var n int
		if err := w.d.QueryRow(t.Context(), `SELECT COUNT(*) FROM asset WHERE name = 'once'`).Scan(&n); err != nil || n != 1 {
			t.Errorf("%d stories, %v", n, err)
		}
	})
}

// TestARenewalByAnother gives a proposal a plan that everybody with the rights can apply, and no plan that is kept already.
func TestARenewalByAnother(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		dev, lead, member := w.member("dev", 5, "shop"), w.member("lead", 3, "shop"), w.member("member", 4, "shop")
		k := w.keep(dev, "p", "shop", `{"AssetType":"Note","Name":"n","Asset":"<a>","Content":"c","Personal":false}`)
		b, err := w.plan.Renew(t.Context(), lead, k.Proposal, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		w.read(b, &k)
		if _, differs := w.apply(member, k.Plan); differs != nil {
			t.Errorf("%s", differs)
		}
		w.keep(dev, "q", "shop", `{"from":"<a>","update":{"Name":"A"}}`)
		p := w.propose(dev, w.commands(`{"from":"<a>","update":{"Name":"B"}}`)).Plan
		if _, err := w.plan.Propose(t.Context(), dev, []byte(w.named(`{"plan":"`+p+`","name":"r","scope":"<shop>"}`)), false); err != nil {
			t.Fatal(err)
		}
		if b, err := w.plan.Renew(t.Context(), dev, w.made["q"], []byte(`{"plan":"`+p+`"}`), false); fault.KindOf(err) != fault.Invalid {
			t.Errorf("renewed by the plan of another proposal: %s %v", b, err)
		}
	})
}

// TestAProposalIsBounded shows and applies a proposal only within the memory of the request.
func TestAProposalIsBounded(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		dev := w.member("dev", 5, "shop")
		k := w.keep(dev, "p", "shop", `{"from":"<a>","update":{"Description":"`+strings.Repeat("x", 200_000)+`"}}`)
		rows := w.rows()
		hold := memory.NewBudget(1_000_000).Hold(1) // less than six times the effect
		defer hold.Release()
		ctx := memory.With(t.Context(), hold)
		if b, err := w.plan.Show(ctx, dev, k.Proposal); fault.KindOf(err) != fault.Invalid {
			t.Errorf("shown: %s %v", b, err)
		}
		if b, err := w.plan.Apply(ctx, dev, k.Plan); fault.KindOf(err) != fault.Invalid || !cmp.Equal(rows, w.rows()) {
			t.Errorf("applied: %s %v", b, err)
		}
		if _, differs := w.apply(dev, k.Plan); differs != nil {
			t.Errorf("%s", differs)
		}
	})
}

// TestAProposalIsAppliedOnce lets members apply and renew a proposal at the same time.
func TestAProposalIsAppliedOnce(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("a", "Story", `"Scope":"<shop>"`)
		dev, lead, admin := w.member("dev", 5, "shop"), w.member("lead", 3, "shop"), w.member("admin", 2, "shop")
		for i := range 6 {
			name := fmt.Sprint("race", i)
			k := w.keep(dev, name, "shop", fmt.Sprintf(`{"AssetType":"Story","Name":"race %d","Scope":"<shop>"}`, i))
			var all sync.WaitGroup
			applied := make([]bool, 3)
			for n, who := range []auth.Actor{lead, admin, dev} {
				all.Go(func() {
					if n == 2 && i%2 == 1 {
						_, err := w.plan.Renew(t.Context(), who, k.Proposal, nil, false)
						if err == nil && w.selected(k.Proposal, "AssetState") == "Closed" {
							t.Errorf("renewed after it was applied")
						}
						return
					}
					_, err := w.plan.Apply(t.Context(), who, k.Plan)
					applied[n] = err == nil
				})
			}
			all.Wait()
			var n int
			if err := w.d.QueryRow(t.Context(), `SELECT COUNT(*) FROM asset WHERE name = ?`, fmt.Sprint("race ", i)).Scan(&n); err != nil || n > 1 {
				t.Errorf("%d stories, applied %v, %v", n, applied, err)
			}
			if closed := w.selected(k.Proposal, "AssetState") == "Closed"; closed != (n == 1) {
				t.Errorf("%d stories, closed %v, applied %v", n, closed, applied)
			}
		}
	})
}
