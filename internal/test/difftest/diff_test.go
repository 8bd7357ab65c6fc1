package difftest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
	"github.com/alds-dev/alds/internal/write/bulk"
)

const (
	perWorld = 200             // queries for each world
	brief    = 3 * time.Second // time for the queries of one world with -short
	least    = 60              // lowest number of queries of one world with -short, even if they take longer
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestDifference sends random queries of random members to two databases, and compares the answers with
// those of the evaluator. Each world has a different seed.
func TestDifference(t *testing.T) {
	seed, queries := testseed.New(t), *queriesFlag
	switch {
	case queries > 0:
	case testing.Short():
		queries = perWorld
	default:
		queries = 1000
	}
	for n := 0; n*perWorld < queries; n++ {
		seed := seed + uint64(n)
		name := fmt.Sprintf("seed %d", seed)
		if !t.Run(name, func(t *testing.T) { oneWorld(t, seed, testdb.MySQL(t)) }) {
			t.FailNow()
		}
	}
}

// TestAsForTiDB compares queries on a server that reports itself as TiDB. For such a server the engine
// generates different SQL.
func TestAsForTiDB(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: the same questions to a server that says it is a TiDB")
	}
	d, _ := testdb.OpenAsTiDB(t)
	oneWorld(t, testseed.New(t), d)
}

// run is the test of one world, which exists on both databases.
type run struct {
	*testing.T
	*rand.Rand
	m       *meta.Model
	servers []*server
	grow    *grower
	w       *world
	failed  int

	commands, refused, asked, empty int // counted for the log
	complex                         int // number of answers that say that a query is too complex for the database
}

// kept is a recorded answer. The same query about the same time must later have this answer.
type kept struct {
	ask    ask
	who    auth.Actor
	answer string
}

// oneWorld fills one world on a server and on SQLite, and compares the answers to queries. With -short,
// unless a seed is given, the time for the queries is limited, and oneWorld sends only as many of its
// queries as fit in that time.
func oneWorld(t *testing.T, seed uint64, onServer *db.DB) {
	testseed.Print(t, seed)
	m := grown()
	r := &run{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), m: m}
	r.grow = newGrower(r.Rand, m)
	t.Cleanup(func() { t.Logf("%d queries were asked", r.asked) })
	r.servers = []*server{serve(t, onServer, m), serve(t, testdb.SQLite(t), m)}
	r.write(r.founding())
	r.write(r.grow.request(25))
	r.retire("Custom_Former")
	var keep []kept
	for range 3 {
		for range 2 + r.IntN(4) {
			r.write(r.grow.request(5 + r.IntN(25)))
		}
		r.look()
		keep = append(keep, r.record(10)...)
	}
	until := time.Now().Add(brief)
	for n := range perWorld {
		if testing.Short() && !testseed.Given() && *queriesFlag == 0 && n >= least && time.Now().After(until) {
			break
		}
		r.compare(r.question())
		if n%20 == 19 {
			r.moments()
		}
	}
	for _, k := range keep {
		r.askAgain(k)
	}
	r.Logf("%d assets, %d of %d commands failed, %d of %d answers are empty, %d too complex", len(r.w.versions), r.refused, r.commands, r.empty, r.asked, r.complex)
	if r.complex > max(maxComplex, r.asked/100) {
		t.Errorf("%d of %d queries are too complex for the database", r.complex, r.asked)
	}
}

// retire retires attributes. The database keeps the values that were written to them.
func (r *run) retire(names ...string) {
	r.m = grown(names...)
	r.grow.m = r.m
	for _, s := range r.servers {
		s.use(r.T, r.m)
	}
}

// founding returns the first payload. It creates one asset for each entry of founders.
func (r *run) founding() []byte {
	var commands []map[string]any
	for _, name := range founders {
		c := r.grow.birth(name)
		if o, ok := c["Scope"]; ok && o != nil {
			c["Scope"] = "Scope:0"
		}
		commands = append(commands, c)
	}
	b, err := json.Marshal(commands)
	must(err)
	return b
}

// write sends a payload to both databases. Both must give the same answer.
func (r *run) write(body []byte) {
	r.Helper()
	comment := []string{"", "first", "First", "fïrst ", "Second one"}[r.IntN(5)]
	var commands []json.RawMessage
	must(json.Unmarshal(body, &commands))
	r.commands += len(commands)
	var answers []map[string]any
	for _, s := range r.servers {
		b, err := s.bulk.Run(context.Background(), auth.System, bulk.Request{Body: body, Comment: comment})
		if err != nil {
			r.Fatalf("%s: %v\n%s", s.name, err, smallerPayload(s, body))
		}
		var a map[string]any
		must(json.Unmarshal(b, &a))
		for _, varies := range []string{"requestId", "createdDate", "completedDate", "duration", "durationSeconds"} {
			delete(a, varies)
		}
		if f, ok := a["commandFailures"].(map[string]any); ok {
			for i, c := range f["commands"].([]any) {
				f["commands"].([]any)[i] = c.(map[string]any)["error"]
			}
		}
		answers = append(answers, a)
	}
	if d := cmp.Diff(answers[0], answers[1]); d != "" {
		r.Fatalf("the databases answer a payload differently:\n%s\n%s", body, d)
	}
	for _, o := range answers[0]["assetsCreated"].(map[string]any)["oidTokens"].([]any) {
		r.grow.learn([]string{o.(string)})
	}
	r.refused += int(answers[0]["commandFailures"].(map[string]any)["count"].(float64))
}

// epoch is the time of moment 0 after align has run.
const epoch = "2026-01-01T00:00:00Z"

// align sets the times in a database so that both databases have the same times: one second for each
// moment.
func (r *run) align(d *db.DB) {
	r.Helper()
	zero := instant(epoch)
	for _, sql := range []string{
		"UPDATE asset SET created_at = ? + created_moment * 1000000, changed_at = ? + moment * 1000000",
		"UPDATE asset_version SET created_at = ? + created_moment * 1000000, changed_at = ? + moment * 1000000",
	} {
		if _, err := d.Exec(context.Background(), sql, zero, zero); err != nil {
			r.Fatal(err)
		}
	}
	if _, err := d.Exec(context.Background(), "UPDATE moment_stamp SET at = ? + last_moment * 1000000", zero); err != nil {
		r.Fatal(err)
	}
}

func instantOf(moment int64) string {
	return time.UnixMicro(instant(epoch) + moment*1_000_000).UTC().Format(time.RFC3339)
}

// look loads the world from both databases. It must be the same in both.
func (r *run) look() {
	r.Helper()
	var both []*world
	for _, s := range r.servers {
		r.align(s.d)
		both = append(both, load(r, s.d, r.m))
		for _, diff := range []func(testing.TB, *db.DB, *world) string{closureDiff, hiddenDiff} {
			if d := diff(r, s.d, both[0]); d != "" {
				r.Fatalf("%s: %s", s.name, d)
			}
		}
	}
	if d := cmp.Diff(strings.Split(both[0].dump(), "\n"), strings.Split(both[1].dump(), "\n")); d != "" {
		r.Fatalf("the databases hold different rows:\n%s", d)
	}
	r.w = both[0]
}

// member returns a random actor, who sees either everything or only some projects.
func (r *run) member() auth.Actor {
	if r.IntN(100) < 60 {
		who := auth.System
		who.Hidden = r.hidden()
		return who
	}
	who := auth.Actor{Member: 20, Scopes: []int64{}, Hidden: r.hidden()}
	held := roles
	if r.IntN(3) > 0 {
		held = roles[2:] // without the roles that may see all members
	}
	for _, x := range r.w.at(current).order {
		if x.typ.Name == "Scope" && r.IntN(2) == 0 {
			who.Scopes = append(who.Scopes, x.id)
			who.Roles = append(who.Roles, held[r.IntN(len(held))])
			who.Held |= meta.RolesOf(who.Roles[len(who.Roles)-1])
		}
		if x.typ.Name == "Member" && r.IntN(3) == 0 {
			who.Member = x.id
		}
	}
	if r.IntN(4) == 0 {
		who.System = meta.MemberAdmin
		who.Held |= meta.RolesOf(meta.MemberAdmin)
	}
	if r.IntN(3) > 0 {
		r.listMembers(&who)
	}
	return who
}

// roles are the roles from which the method member chooses.
var roles = []meta.Role{meta.SystemAdmin, meta.ProjectAdmin, 3, 4, 5, 6, 7, 8, 9, 11, meta.MemberAdmin, meta.OtherRole}

// listMembers sets the list of members that an actor sees, as a login does.
func (r *run) listMembers(who *auth.Actor) {
	if !who.All && who.Members == nil {
		who.Members = (&evaluator{w: r.w, who: *who}).members()
	}
}

func (r *run) questioner() *questioner {
	return newQuestioner(r.Rand, r.w, &evaluator{w: r.w, who: auth.System})
}

// question returns a random query and the actor who sends it. The query has no asof, a random time as asof,
// or All as asof.
func (r *run) question() (*ask, auth.Actor) {
	a := r.questioner().ask()
	switch n := r.IntN(100); {
	case n < 15:
		first := r.w.stamps[0][0]
		a.AsOf = instantOf(first - 3 + r.Int64N(r.w.last()-first+6))
	case n < 20:
		a.AsOf = "All"
	}
	return a, r.member()
}

// compare sends a query to both databases and to the evaluator. If the answers differ, it fails the test
// and prints the smallest query that shows the difference.
func (r *run) compare(a *ask, who auth.Actor) {
	r.Helper()
	if r.asked++; answer(r.w, who, a) == "[]" {
		r.empty++
	}
	if r.differs(a, who) == "" {
		return
	}
	small := shrink(a, func(b *ask) bool { return r.differs(b, who) != "" })
	r.Errorf("%s\nas member %d, all %v, scopes %v: %s", small, who.Member, who.All, who.Scopes, r.differs(small, who))
	if r.failed++; r.failed >= maxFailures {
		r.Fatal("enough")
	}
}

// maxComplex is how many queries of a world may be too complex for the database. Of a large number of queries
// it is one of a hundred.
const maxComplex = 3

// maxFailures is after how many differences the test of one world ends.
const maxFailures = 5

// differs returns a text with the three answers if they are not equal, and "" otherwise. Each answer is cut
// so that it begins shortly before the first difference.
func (r *run) differs(a *ask, who auth.Actor) string {
	body := a.String()
	names, answers := []string{"want"}, []string{answer(r.w, who, a)}
	for _, s := range r.servers {
		got, err := s.rows(who, body)
		if refused(err) {
			return ""
		}
		if tooComplex(err) { // docs/limits.md: such a query is refused before it is sent to the database
			r.complex++
			return ""
		}
		if err != nil {
			got = err.Error()
		}
		names, answers = append(names, s.name), append(answers, got)
	}
	at := min(same(answers[0], answers[1]), same(answers[0], answers[2]))
	if at == len(answers[0]) && at == len(answers[1]) && at == len(answers[2]) {
		return ""
	}
	at = max(0, at-200)
	all := fmt.Sprintf("\nfrom byte %d on", at)
	for i, name := range names {
		all += fmt.Sprintf("\n%-6s %.600s", name, answers[i][min(at, len(answers[i])):])
	}
	return all
}

// same returns how many bytes at the beginning of two texts are equal.
func same(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

// refused reports whether err says that a variable of the query has no value. This happens when shrink has
// removed the variable.
func refused(err error) bool {
	return fault.KindOf(err) == fault.Invalid && strings.Contains(err.Error(), "has no value")
}

// tooComplex reports whether err says that the statement of a query is too complex for the database.
func tooComplex(err error) bool {
	return fault.KindOf(err) == fault.Invalid && strings.Contains(err.Error(), "the query is too complex for the database")
}

// record returns queries about the current state with their answers. Nothing is written meanwhile.
func (r *run) record(n int) []kept {
	var all []kept
	for range n {
		a, who := r.questioner().ask(), r.member()
		r.listMembers(&who) // stored now, because later writes may change roles
		if later.MatchString(a.String()) || who.System == meta.MemberAdmin && told.MatchString(a.String()) {
			continue
		}
		r.compare(a, who)
		got, err := r.servers[0].rows(who, a.String())
		if err != nil {
			continue // compare has reported the error
		}
		a.AsOf = instantOf(r.w.last())
		all = append(all, kept{*a, who, got})
	}
	return all
}

// later matches queries whose answer may change after later writes. Such queries read later versions, or
// the current state by "#".
var later = regexp.MustCompile(`\b(Is|Now|History)\b|Retire|#`)

// told matches queries whose answer depends on current rights. For a Member Admin the answer depends on the
// roles of other members, which may change and are not stored in the actor.
var told = regexp.MustCompile(`\b(Check\w+|Can\w+|IsReadOnly|IsDeletable|IsUndeletable)\b`)

// momentInOid matches an Oid with a moment. Only answers to queries with asof contain moments.
var momentInOid = regexp.MustCompile(`("_oid":"\w+:\d+):\d+"`)

// askAgain sends a recorded query again, with asof. It expects the recorded answer.
func (r *run) askAgain(k kept) {
	r.Helper()
	for _, s := range r.servers {
		got, err := s.rows(k.who, k.ask.String())
		if err != nil {
			got = err.Error()
		}
		if got = momentInOid.ReplaceAllString(got, `$1"`); got != k.answer {
			r.Fatalf("%s: asked again, the past has changed:\n%s\nthen %s\nnow  %s", s.name, &k.ask, k.answer, got)
		}
	}
}
