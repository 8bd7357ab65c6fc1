package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
)

// prepared has requests that create an asset of every type that other types need, and several stories and
// tasks. So assets that an operation needs may exist, be deleted, or be in a deleted project.
var prepared = []string{
	`[{"AssetType": "Scope", "Name": "kept", "Parent": "Scope:0", "BeginDate": "2026-01-01"},
	  {"AssetType": "Scope", "Name": "hidden", "Parent": "Scope:0", "BeginDate": "2026-01-01"},
	  {"AssetType": "Schedule", "Name": "H"},
	  {"AssetType": "RegressionPlan", "Name": "P", "Scope": "Scope:1001"},
	  {"AssetType": "RegressionSuite", "Name": "R", "RegressionPlan": "RegressionPlan:1004"},
	  {"AssetType": "RegressionSuite", "Name": "R2", "RegressionPlan": "RegressionPlan:1004"},
	  {"AssetType": "Story", "Name": "plain", "Scope": "Scope:1001", "Children": [{"AssetType": "Task", "Name": "T"}, {"AssetType": "Test", "Name": "A"}]},
	  {"AssetType": "Story", "Name": "parent", "Scope": "Scope:1001", "Children": [{"AssetType": "Task", "Name": "T of a deleted one"}]},
	  {"AssetType": "Story", "Name": "hidden", "Scope": "Scope:1002", "Children": [{"AssetType": "Task", "Name": "T hidden"}]},
	  {"AssetType": "Epic", "Name": "E", "Scope": "Scope:1001"},
	  {"AssetType": "Epic", "Name": "E", "Scope": "Scope:1002"},
	  {"AssetType": "TestSet", "Name": "set", "Scope": "Scope:1001", "RegressionSuite": "RegressionSuite:1005"},
	  {"AssetType": "TestSet", "Name": "without", "Scope": "Scope:1001", "RegressionSuite": "RegressionSuite:1006"},
	  {"AssetType": "Story", "Name": "to epic", "Scope": "Scope:1001"},
	  {"AssetType": "Story", "Name": "to an epic with more", "Scope": "Scope:1001"},
	  {"AssetType": "Story", "Name": "to a deleted epic", "Scope": "Scope:1001"}]`,
	`[{"oid": "RegressionSuite:1006", "execute": "Delete"}, {"oid": "Story:1010", "execute": "Delete"},
	  {"oid": "Story:1018", "execute": "Breakdown"}, {"oid": "Story:1019", "execute": "Breakdown"}, {"oid": "Story:1020", "execute": "Breakdown"}]`,
	`[{"oid": "Task:1011", "execute": "Undelete"},
	  {"AssetType": "Story", "Name": "below", "Scope": "Scope:1001", "Super": {"from": "Epic", "where": {"Name": "to an epic with more"}}},
	  {"from": "Epic", "where": {"Name": "to a deleted epic"}, "execute": "Delete"},
	  {"oid": "Scope:1002", "execute": "Delete"}]`,
}

// states are all states that an asset can have.
var states = []int{0, 64, 128, 200, 208, 255}

// TestValidators checks every validator, for every asset in every state. A validator must be true exactly
// if its operation succeeds. It must be false if the operation would change nothing, or if clients should
// not offer it. Its value must be the same in select, where and sort. It must be right for members with
// various roles, too. With -short, it checks only a sample (see sample).
func TestValidators(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			v := newValidation(t, open[dialect](t))
			if v.tried = 0; testing.Short() {
				seed := seedOf()
				v.sample(rand.New(rand.NewPCG(seed, 1)))
				if t.Failed() {
					t.Logf("repeat with -short -modeltest.seed %d", seed)
				}
			} else {
				v.all()
			}
			for _, typ := range []string{"Scope", "Member", "Story", "Task", "TestSet", "State"} {
				v.sorted(typ)
			}
			t.Logf("%d operations, %d of them ran; members asked for %d and were allowed %d", v.tried, v.ran, v.asked, v.allowed)
		})
	}
}

// all tests every operation on every asset in every state.
func (v *validation) all() {
	for _, o := range v.everything() {
		v.asset(o)
	}
	if v.tried < 1000 {
		v.Errorf("only %d operations were tried", v.tried)
	}
	if v.allowed < 200 || v.allowed > v.asked-200 {
		v.Errorf("members were allowed %d of %d operations", v.allowed, v.asked)
	}
}

type validation struct {
	*testing.T
	d      *db.DB
	assets *asset.Engine
	finder *find.Finder
	some   map[string]auth.Actor // by description: members who lack some rights

	tried, ran     int // number of operations tried as the administrator, and how many of them succeeded
	asked, allowed int // number of operations tried as other members, and how many were allowed
}

func newValidation(t *testing.T, d *db.DB) *validation {
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	v := &validation{T: t, d: d, assets: asset.New(d, model, usernames{}, nil), finder: find.New(d, model)}
	e := bulk.New(v.assets, v.finder)
	for _, body := range append(slices.Clone(prepared), v.oneOfEach()) {
		got, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(body)})
		if err != nil || !strings.Contains(string(got), `"commandFailures":{"commands":[],`) {
			t.Fatalf("%v\n%s", err, got)
		}
	}
	v.some = v.members()
	return v
}

// members returns members with roles in the project of the assets, in the deleted project and in the
// system. The key is a description.
func (v *validation) members() map[string]auth.Actor {
	var other int64
	if err := v.d.QueryRow(v.Context(), `SELECT MAX(id) FROM asset WHERE type = ?`, v.typ("Member").Code).Scan(&other); err != nil {
		v.Fatal(err)
	}
	made := map[string]auth.Actor{}
	for name, roles := range map[string][3]meta.Role{ // roles in the project, in the deleted project, and in the system
		"Project Admin who made all": {meta.ProjectAdmin, meta.ProjectAdmin},
		"Team Member":                {4, 8},
		"Customer":                   {7, 4},
		"Member Admin":               {8, 6, meta.MemberAdmin},
	} {
		who := auth.Actor{Member: other, Scopes: []int64{1001, 1002}, Roles: roles[:2], System: roles[2]}
		if who.Held = meta.RolesOf(roles[:]...) &^ meta.RolesOf(meta.NoAccess); roles[0] == meta.ProjectAdmin {
			who.Member = auth.SystemMember
		}
		made[name] = who
	}
	return made
}

func (v *validation) typ(name string) *meta.Type {
	t, _ := model.Type(name)
	return t
}

// oneOfEach returns a request that creates an asset of every type, with its required attributes.
func (v *validation) oneOfEach() string {
	given := map[string]string{
		"Scope": "Scope:1001", "Schedule": "Schedule:1003", "Parent": "Story:1007", "RegressionPlan": "RegressionPlan:1004",
		"RegressionSuite": "RegressionSuite:1005", "Asset": "Story:1007", "Workitem": "Story:1007", "Member": "Member:20", "DefaultRole": "Role:4", "State": "State:101",
	}
	var all []map[string]any
	for _, t := range model.Types {
		if t.Abstract || t.Metadata {
			continue
		}
		c := map[string]any{"AssetType": t.Name}
		for _, a := range t.Attrs {
			switch {
			case !a.Required || a.ReadOnly || a.Default != "":
			case t.Name == "Scope" && a.Name == "Parent":
				c[a.Name] = "Scope:1001"
			case a.Kind == meta.Relation:
				c[a.Name] = given[a.Name]
			case a.Name == "EndDate":
				c[a.Name] = "2026-02-01"
			case a.Kind == meta.Date:
				c[a.Name] = "2026-01-01"
			case a.Kind == meta.Numeric:
				c[a.Name] = 1
			default:
				c[a.Name] = "one " + t.Name
			}
		}
		all = append(all, c)
	}
	b, err := json.Marshal(all)
	if err != nil {
		v.Fatal(err)
	}
	return string(b)
}

// everything returns the Oids of all assets. Of each list type, and of each type whose assets describe the
// model, it returns only one.
func (v *validation) everything() []oid.OID {
	rows, err := v.d.Query(v.Context(), `SELECT id, type FROM asset ORDER BY id`)
	if err != nil {
		v.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	list, _ := model.Type("List")
	seen := map[*meta.Type]bool{}
	var all []oid.OID
	for rows.Next() {
		var id int64
		var code int
		if err := rows.Scan(&id, &code); err != nil {
			v.Fatal(err)
		}
		t, _ := model.TypeByCode(code)
		if (t.IsA(list) || t.Metadata) && seen[t] {
			continue
		}
		seen[t] = true
		all = append(all, oid.OID{Type: t.Name, ID: t.Shown(id)})
	}
	if err := rows.Err(); err != nil {
		v.Fatal(err)
	}
	return all
}

// asset tests all operations on an asset, in each state.
func (v *validation) asset(o oid.OID) {
	t, _ := model.Type(o.Type)
	was := v.state(t.Stored(o.ID))
	for _, state := range states {
		v.set(t.Stored(o.ID), state)
		for _, op := range t.Ops {
			if op.Validator != "" {
				v.operation(o, state, op)
			}
		}
		v.update(o, t, state)
	}
	v.set(t.Stored(o.ID), was)
}

func (v *validation) state(id int64) (state int) {
	if err := v.d.QueryRow(v.Context(), `SELECT state FROM asset WHERE id = ?`, id).Scan(&state); err != nil {
		v.Fatal(err)
	}
	return state
}

// set changes the state of an asset directly in the tables, so that no rule applies. A project that is
// deleted in this way does not hide its assets. Only the deleted project of prepared does.
func (v *validation) set(id int64, state int) {
	err := v.d.Write(v.Context(), func(tx *db.Tx) error {
		for _, query := range []string{`UPDATE asset SET state = ? WHERE id = ?`, `UPDATE asset_version SET state = ? WHERE id = ? AND until_moment = 9223372036854775807`} {
			if _, err := tx.Exec(v.Context(), query, state, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		v.Fatal(err)
	}
}

// operation compares the value of a validator with the result of its operation.
func (v *validation) operation(o oid.OID, state int, op *meta.Op) {
	c := &asset.Command{Verb: asset.Operate, Target: asset.Ref{OID: o}, Op: op.Name}
	err := v.try(auth.System, c)
	v.tried++
	if err == nil {
		v.ran++
	}
	says, _ := v.says(auth.System, o, op.Validator)
	if op.Repeats(state) {
		if refused := op.Effect.When != "" || v.protected(o); says || err != nil && !refused {
			v.Errorf("%s in state %d: %s says %v where nothing would change, and %s answers %v", o, state, op.Validator, says, op.Name, err)
		}
		return
	}
	if in := op.Effect.Offered; in != nil && !slices.Contains(in, state) {
		refused := state == meta.StateDeleted || v.protected(o)
		if says || err != nil && !refused {
			v.Errorf("%s in state %d: %s says %v where nobody should offer it, and %s answers %v", o, state, op.Validator, says, op.Name, err)
		}
		return
	}
	if says != (err == nil) {
		v.Errorf("%s in state %d: %s says %v, but %s answers %v", o, state, op.Validator, says, op.Name, err)
	}
	for name, who := range v.some {
		says, seen := v.says(who, o, op.Validator)
		if !seen || !says && err != nil {
			continue
		}
		v.asked++
		if says {
			v.allowed++
		}
		if err := v.try(who, c); says != (err == nil) {
			v.Errorf("%s in state %d: %s says %v to the %s, but %s answers %v", o, state, op.Validator, says, name, op.Name, err)
		}
	}
}

// protected reports whether the service needs the asset, so that it cannot be deleted.
func (*validation) protected(o oid.OID) bool {
	t, _ := model.Type(o.Type)
	return t.IsProtected(t.Stored(o.ID))
}

// hidden reports whether an asset is in a deleted project. Ordinary updates do not find such assets.
func (v *validation) hidden(o oid.OID) bool {
	known, err := v.assets.Lookup(v.Context(), v.d, auth.System, []oid.OID{o})
	if err != nil {
		v.Fatal(err)
	}
	t, _ := model.Type(o.Type)
	return known[o].Deleted && v.state(t.Stored(o.ID)) != 255
}

var errUndo = errors.New("only a try")

// try executes a command and undoes it. It returns the error of the command.
func (v *validation) try(who auth.Actor, c *asset.Command) error {
	var got error
	err := v.assets.Write(v.Context(), who, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
		done, err := s.Run(v.Context(), []*asset.Command{c})
		if err != nil {
			return err
		}
		got = done[0].Err
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		v.Fatal(err)
	}
	return got
}

// says returns the value of a Boolean attribute, read as a member. It fails the test if a filter by the
// attribute gives another result. seen is false if the member does not see the asset.
func (v *validation) says(who auth.Actor, o oid.OID, name string) (says, seen bool) {
	ask := func(more string) string {
		body := fmt.Sprintf(`{"from": "%s", "filter": ["IsDeleted='true','false'"%s`, o, more)
		return v.answer(who, body)
	}
	selected := ask(fmt.Sprintf(`], "select": ["%s"], "sort": ["%s"]}`, name, name))
	if selected == "[]" {
		return false, false
	}
	says = strings.Contains(selected, `"`+name+`":true`)
	for _, want := range []bool{true, false} {
		if found := ask(fmt.Sprintf(`, "%s='%v'"]}`, name, want)) != "[]"; found != (says == want) {
			v.Errorf("%s: %s is %v when selected, and a filter for %v finds it: %v", o, name, says, want, found)
		}
	}
	return says, true
}

// sorted fails the test unless a sort by each validator returns false before true.
func (v *validation) sorted(typ string) {
	t, _ := model.Type(typ)
	for _, op := range t.Ops {
		if op.Validator == "" {
			continue
		}
		rows := v.answer(auth.System, fmt.Sprintf(`{"from": "%s", "filter": ["IsDeleted='true','false'"], "select": ["%s"], "sort": ["%[2]s"]}`, typ, op.Validator))
		last, first := strings.LastIndex(rows, ":false}"), strings.Index(rows, ":true}")
		if first >= 0 && last > first {
			v.Errorf("%s by %s: %s", typ, op.Validator, rows)
		}
	}
}

func (v *validation) answer(who auth.Actor, body string) string {
	e := bulk.New(v.assets, v.finder)
	got, err := e.Run(context.Background(), who, bulk.Request{Body: []byte(body)})
	if err != nil {
		v.Fatal(err)
	}
	var r struct {
		QueryResult struct{ Results []json.RawMessage }
	}
	if err := json.Unmarshal(got, &r); err != nil || len(r.QueryResult.Results) != 1 {
		v.Fatalf("%s: %v %s", body, err, got)
	}
	return string(r.QueryResult.Results[0])
}
