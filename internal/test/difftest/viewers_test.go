package difftest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// seenTypes are types that together use all rules of visibility.
var seenTypes = []string{"Workitem", "Scope", "BaseAsset", "Note", "Link", "Expression", "Conversation", "Actual", "MessageReceipt", "Role"}

// someRoles are the numbers of roles from which the method assignments chooses. Roles of administrators are
// rare.
var someRoles = []int{0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 8, 8, 9, 10, 11, 12}

// ruledBirths are types whose assets are visible to members who see certain related assets.
var ruledBirths = []string{"Expression", "Conversation", "Note", "Link", "Message", "ChangeSet", "BuildRun", "BuildProject", "Attachment", "MessageReceipt"}

// TestViewersSee compares the attribute Viewers with what members can read, for every asset and every
// member of a small world. A member must be among the viewers exactly if the member can read the asset.
func TestViewersSee(t *testing.T) {
	seed := testseed.New(t)
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		testseed.Print(t, seed)
		m := grown()
		r := &run{T: t, Rand: rand.New(rand.NewPCG(seed, 2)), m: m}
		r.grow = newGrower(r.Rand, m)
		r.servers = []*server{serve(t, d, m)}
		s := r.servers[0]
		r.send(s, r.founding())
		for range 6 {
			r.send(s, r.grow.request(20))
			r.send(s, r.births(3, "Member"))
			r.send(s, r.births(2, "Scope"))
			r.send(s, r.births(30, ruledBirths...))
			r.send(s, r.assignments(8))
		}
		r.compareViewers(s)
	})
}

func (r *run) send(s *server, body []byte) {
	r.Helper()
	done, err := s.bulk.Run(r.Context(), auth.System, bulk.Request{Body: body})
	if err != nil {
		r.Fatal(err)
	}
	var made struct {
		AssetsCreated struct {
			OidTokens []string `json:"oidTokens"`
		} `json:"assetsCreated"`
	}
	must(json.Unmarshal(done, &made))
	r.grow.learn(made.AssetsCreated.OidTokens)
}

// births returns a payload that creates n assets of random types among types.
func (r *run) births(n int, types ...string) []byte {
	commands := []map[string]any{}
	for range n {
		if made := r.grow.birth(types[r.IntN(len(types))]); made != nil {
			commands = append(commands, made)
		}
	}
	b, err := json.Marshal(commands)
	must(err)
	return b
}

// assignments returns a payload that gives random members random roles in projects.
func (r *run) assignments(n int) []byte {
	var commands []map[string]any
	for range n {
		args := map[string]any{"Member": r.grow.asset("Member"), "Role": fmt.Sprintf("Role:%d", someRoles[r.IntN(len(someRoles))]), "IsOwner": false}
		scope := r.grow.asset("Scope")
		if scope == "Scope:0" && r.IntN(8) > 0 {
			continue // a member who can read everything does not test much
		}
		commands = append(commands, map[string]any{"from": scope, "execute": map[string]any{"op": "AssignMemberWithRole", "args": args}})
	}
	b, err := json.Marshal(commands)
	must(err)
	return b
}

func (r *run) compareViewers(s *server) {
	r.Helper()
	rights, err := auth.New(s.d, r.m, auth.Options{})
	if err != nil {
		r.Fatal(err)
	}
	member, _ := r.m.Type("Member")
	pairs, hidden := 0, 0
	for _, of := range seenTypes {
		viewers := r.listed(s, auth.System, of, `"Viewers"`)
		for _, who := range r.listed(s, auth.System, "Member", "")[""] {
			o, err := oid.Parse(who)
			must(err)
			a, err := rights.ActorOf(r.Context(), member.Stored(o.ID))
			if err != nil {
				r.Fatalf("%s: %v", who, err)
			}
			sees := r.listed(s, a, of, "")[""]
			for asset, by := range viewers {
				if pairs++; !slices.Contains(by, who) {
					hidden++
				}
				if slices.Contains(by, who) != slices.Contains(sees, asset) {
					r.Errorf("%s: %s is a viewer: %v, and sees it: %v", asset, who, slices.Contains(by, who), slices.Contains(sees, asset))
				}
			}
		}
	}
	if pairs == 0 || hidden == 0 || hidden == pairs {
		r.Errorf("%d of %d pairs are hidden", hidden, pairs)
	}
	r.Logf("%d of %d pairs of an asset and a member are hidden", hidden, pairs)
}

// listed queries the assets of a type. If list is empty, it returns their Oids under the key "". Otherwise
// it returns the viewers of each asset, by the Oid of the asset.
func (r *run) listed(s *server, who auth.Actor, of, list string) map[string][]string {
	r.Helper()
	answer, err := s.rows(who, `{"from": "`+of+`", "select": [`+list+`]}`)
	if err != nil {
		r.Fatal(err)
	}
	var rows []struct {
		OID     string `json:"_oid"`
		Viewers []struct {
			OID string `json:"_oid"`
		}
	}
	must(json.Unmarshal([]byte(answer), &rows))
	all := map[string][]string{}
	for _, row := range rows {
		if list == "" {
			all[""] = append(all[""], row.OID)
			continue
		}
		all[row.OID] = []string{}
		for _, v := range row.Viewers {
			all[row.OID] = append(all[row.OID], v.OID)
		}
	}
	return all
}
