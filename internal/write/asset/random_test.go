package asset_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/asset"
)

// TestRandomSequences runs requests with random commands, some of which fail. It then checks
// conditions that must be true for every database.
func TestRandomSequences(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		seeds := uint64(8)
		if testing.Short() {
			seeds = 3
		}
		for seed := range seeds {
			g := &generator{rand: rand.New(rand.NewPCG(seed, 1))}
			for range 25 {
				w.random(g)
			}
		}
		w.consistent()
		w.invariants()
	})
}

// generator returns random commands on assets that earlier commands have created.
type generator struct {
	rand                        *rand.Rand
	scopes, epics, stories, all []string
	tasks                       []string
	n                           int
}

func (g *generator) pick(list []string, otherwise string) string {
	if len(list) == 0 {
		return otherwise
	}
	return list[g.rand.IntN(len(list))]
}

func (g *generator) command() *asset.Command {
	g.n++
	alias := fmt.Sprint("@", g.n)
	scope := g.pick(g.scopes, "Scope:0")
	switch g.rand.IntN(14) {
	case 0:
		return create("Scope", alias, "Name", alias, "Parent", scope, "BeginDate", "2026-01-01")
	case 1:
		return create("Epic", alias, "Name", alias, "Scope", scope, "Super", g.pick(g.epics, ""))
	case 2, 3:
		return create("Story", alias, "Name", alias, "Scope", scope, "Super", g.pick(g.epics, ""), "Owners", "Member:20", "TaggedWith", alias)
	case 4, 5:
		return create("Task", alias, "Name", alias, "Parent", g.pick(g.stories, "Story:1"))
	case 6:
		return create("Note", alias, "Name", alias, "Content", "x", "Asset", g.pick(g.all, "Story:1"))
	case 7:
		return update(g.pick(g.scopes, "Scope:1"), "Parent", g.pick(g.scopes, "Scope:0"))
	case 8:
		return update(g.pick(g.epics, "Epic:1"), "Super", g.pick(g.epics, ""))
	case 9:
		return update(g.pick(g.stories, "Story:1"), "Scope", scope, "-Owners", "Member:20", "Reference", alias)
	case 10:
		return update(scope, "Workitems", g.pick(g.stories, "Story:1"), "Members", "Member:20")
	case 11:
		return update(g.pick(g.tasks, "Task:1"), "Parent", g.pick(g.stories, "Story:1"), "TaggedWith", "x")
	case 12:
		return update(g.pick(g.stories, "Story:1"), "Owners", "Member:20", "-TaggedWith", "x", "Dependencies", g.pick(g.stories, ""), "Name", "")
	}
	return operate(g.pick(g.all, "Story:1"), []string{"Delete", "Undelete", "Inactivate", "Reactivate"}[g.rand.IntN(4)])
}

// random runs one request with random commands and adds the created assets to g.
func (w *harness) random(g *generator) {
	w.t.Helper()
	var commands []*asset.Command
	var outcomes []asset.Outcome
	for range 1 + g.rand.IntN(12) {
		commands = append(commands, g.command())
	}
	err := w.e.Write(w.t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
		var err error
		outcomes, err = s.Run(w.t.Context(), commands)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for i, o := range outcomes {
		if o.Err != nil || commands[i].Verb != asset.Create {
			continue
		}
		token := o.OID.String()
		switch o.OID.Type {
		case "Scope":
			g.scopes = append(g.scopes, token)
		case "Epic":
			g.epics = append(g.epics, token)
		case "Story":
			g.stories = append(g.stories, token)
		case "Task":
			g.tasks = append(g.tasks, token)
		}
		if o.OID.Type != "Note" {
			g.all = append(g.all, token)
		}
	}
}

// invariants checks the data that the engine maintains: the closure of the project tree, copied
// scopes, one role for each member of a project, links whose periods do not overlap, and the
// column linked.
func (w *harness) invariants() {
	w.t.Helper()
	const on = `until_moment = 9223372036854775807`
	w.expect("0\n", `WITH RECURSIVE up(d, a, n) AS (SELECT id, id, 0 FROM asset WHERE type = 11 UNION ALL
 SELECT up.d, p.parent_id, up.n + 1 FROM up JOIN asset p ON p.id = up.a WHERE p.parent_id IS NOT NULL AND up.n < 100)
 SELECT (SELECT COUNT(*) FROM up WHERE NOT EXISTS (SELECT 1 FROM scope_closure c WHERE c.ancestor_id = up.a AND c.descendant_id = up.d AND c.depth = up.n AND c.`+on+`))
 + ABS((SELECT COUNT(*) FROM up) - (SELECT COUNT(*) FROM scope_closure WHERE `+on+`))`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset t JOIN asset p ON p.id = t.parent_id WHERE t.type = 7 AND t.scope_id <> p.scope_id`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset n JOIN asset_link l ON l.from_id = n.id AND l.relation = 81 AND l.`+on+`
 JOIN asset a ON a.id = l.to_id WHERE n.type = 39 AND COALESCE(n.scope_id, -1) <> COALESCE(a.scope_id, -1)`)
	w.expect("0\n", `SELECT ABS((SELECT COUNT(*) FROM asset_link WHERE relation = 34 AND `+on+`) - (SELECT COUNT(*) FROM scope_member WHERE `+on+`))`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset_link a JOIN asset_link b ON a.relation = b.relation AND a.from_id = b.from_id AND a.to_id = b.to_id
 AND a.since_moment < b.since_moment AND a.until_moment > b.since_moment`)
	w.expect("0\n", `SELECT COUNT(*) FROM (SELECT from_id, relation FROM asset_link WHERE relation IN (81, 83) AND `+on+` GROUP BY from_id, relation HAVING COUNT(*) > 1) x`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset_link l WHERE since_moment > 0 AND NOT EXISTS (SELECT 1 FROM asset_version v WHERE v.moment = l.since_moment AND v.linked > 0)`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset_value l WHERE until_moment < 9223372036854775807 AND NOT EXISTS (SELECT 1 FROM asset_version v WHERE v.moment = l.until_moment AND v.linked > 0)`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset_version v WHERE v.moment > 0 AND v.linked > 1 AND v.linked - 1 <>`+
		` (SELECT COUNT(*) FROM asset_link l WHERE l.since_moment = v.moment) + (SELECT COUNT(*) FROM asset_link l WHERE l.until_moment = v.moment) +`+
		` (SELECT COUNT(*) FROM asset_value l WHERE l.since_moment = v.moment) + (SELECT COUNT(*) FROM asset_value l WHERE l.until_moment = v.moment)`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset a JOIN asset_version v ON v.id = a.id AND v.`+on+` WHERE COALESCE(a.scope_id, -1) <> COALESCE(v.scope_id, -1)
 OR COALESCE(a.parent_id, -1) <> COALESCE(v.parent_id, -1) OR COALESCE(a.attrs, '') <> COALESCE(v.attrs, '') OR a.name <> v.name`)
}
