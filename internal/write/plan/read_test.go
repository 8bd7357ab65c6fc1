package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
)

// TestAPlanIsReadAgain reads a plan before and after it is applied, and as other members.
func TestAPlanIsReadAgain(t *testing.T) {
	each(t, func(w *world) {
		w.make("shop", "Scope", `"Parent":"Scope:0","BeginDate":"2026-01-01"`)
		w.make("pay", "Story", `"Scope":"<shop>"`)
		ann, bob := w.member("ann", 3, "shop"), w.member("bob", 3, "shop")
		token := ann
		token.Token = "0c4f2c1e-7f3a-4a3e-9d53-1c2f6d6a7b11"
		blind := ann
		blind.Scopes, blind.Roles = nil, nil
		made := w.propose(ann, w.commands(`{"from":"<pay>","update":{"Estimate":3}}`))

		again := w.shown(ann, made.Plan)
		if again.Applied || cmp.Diff(made.lines(), again.lines()) != "" || again.Size.Assets != 1 {
			t.Errorf("got %+v, want %+v", again, made)
		}
		for name, who := range map[string]auth.Actor{"another member": bob, "a token of the member": token} {
			if _, err := w.plan.Read(t.Context(), who, made.Plan); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s reads it: %v", name, err)
			}
		}
		answer, _ := w.apply(ann, made.Plan)
		if after := w.shown(ann, made.Plan); !after.Applied || string(after.Answer) != string(answer) {
			t.Errorf("after it was applied: %+v, want the answer %s", after, answer)
		}

		hidden := w.propose(ann, w.commands(`{"from":"<pay>","update":{"Estimate":4}}`))
		if seen := w.shown(blind, hidden.Plan); len(seen.lines()) != 0 || seen.Size.Hidden != 1 {
			t.Errorf("without rights, the member sees %v, and %d changes are hidden", seen.lines(), seen.Size.Hidden)
		}
		kept := w.keep(ann, "proposal", "shop", `{"from":"<pay>","update":{"Estimate":5}}`)
		if seen := w.shown(bob, kept.Plan); len(seen.lines()) != 1 {
			t.Errorf("the plan of a proposal: %v", seen.lines())
		}
	})
}

// shown reads a plan.
func (w *world) shown(who auth.Actor, id string) (p struct {
	planned
	Applied bool
	Answer  json.RawMessage
},
) {
	w.t.Helper()
	b, err := w.plan.Read(w.t.Context(), who, id)
	if err != nil {
		w.t.Fatal(err)
	}
	w.read(b, &p)
	return p
}
