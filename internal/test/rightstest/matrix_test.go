package rightstest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alds-dev/alds/internal/test/testseed"
)

var verbs = []string{create, change, operate, del, relate}

// takes has the paths, each with the verbs that are possible by that path.
var takes = []struct {
	path  string
	verbs []string
}{
	{byCreate, []string{create, relate}},
	{byNesting, []string{create}},
	{byOid, []string{change}},
	{byQuery, []string{change, operate, del, relate}},
	{fromBehind, []string{relate}},
	{byExecute, []string{operate, del}},
	{byPost, []string{create, change, relate}},
	{byOp, []string{operate, del}},
	{byTags, []string{change}},
	{byHook, []string{create, change, operate, del}},
	{byUndo, []string{change, del}},
	{byAsync, verbs},
	{byPreview, verbs},
}

// The reasons why a combination of a type, a verb and a path has no cell.
const (
	otherVerb   = "the path does not say the verb"
	noOperation = "the type has no operations but Delete and Undelete"
	noRelation  = "no other asset holds a relation to the type"
	noHolder    = "no relation leads to the type"
	noTags      = "the type has no tags"
	onlyHooks   = "subscriptions are no assets: they are written by api/webhook alone, and nothing else is"
	onlyTags    = "tags themselves are merged by api/tags alone, where each type with tags has a cell"
	noCustom    = "definitions belong to the whole system and lie in no project: TestDefinitions has each role write them"
	onlyOwn     = "of these, members take back only their own changes, and only administrators all: undo TestOwnChanges"
	oneOfKind   = "one type stands for those of its kind that lie in projects likewise, on all but the plain paths"
)

// why returns the reason why a combination has no cell, or "" if it must have one.
func (t *table) why(typ, verb, path string, verbs []string) string {
	switch {
	case typ == "custom attribute":
		return noCustom
	case typ == "tag":
		return onlyTags
	case (typ == "webhook") != (path == byHook):
		return onlyHooks
	case !slices.Contains(verbs, verb):
		return otherVerb
	case typ == "webhook":
		return ""
	case path == byUndo && slices.Contains([]string{"Conversation", "Expression", "Member", "Message", "MessageReceipt", "ChangeSet", "BuildProject", "BuildRun"}, typ):
		return onlyOwn
	case slices.Contains([]string{byQuery, byPost, byOp, byTags, byAsync, byPreview, byUndo}, path) && !t.stands(typ):
		return oneOfKind
	case verb == operate && !hasOperations(typ):
		return noOperation
	case verb == relate && len(relations(typ)) == 0:
		return noRelation
	case path == byNesting && nests[typ][0] == "":
		if h, _ := holderOf(typ); h == "" {
			return noHolder
		}
	case path == byTags:
		if _, ok := typeNamed(typ).Attr("TaggedWith"); !ok {
			return noTags
		}
	}
	return ""
}

// kindOfCells is a combination of a type, a verb and a path. If it has no cell, without is the reason.
type kindOfCells struct{ typ, verb, path, without string }

func (t *table) kindsOfCells(types []string) (all []kindOfCells) {
	for _, typ := range types {
		for _, verb := range verbs {
			for _, p := range takes {
				all = append(all, kindOfCells{typ, verb, p.path, t.why(typ, verb, p.path, p.verbs)})
			}
		}
	}
	return all
}

func hasOperations(typ string) bool {
	for _, op := range typeNamed(typ).Ops {
		if op.Name != "Delete" && op.Name != "Undelete" && len(op.Effect.Args) == 0 {
			return true
		}
	}
	return false
}

// world has the service and everything that the cells need.
type world struct {
	t      *testing.T
	url    string
	rights *table
	seed   uint64 // seed of the sample

	members  []*member
	acting   []*member        // the members that have cells
	base     map[string]*slot // assets that many cells refer to, by placeholder
	standing map[string]*slot // assets that several cells share, by key
	slots    []*slot
	cells    map[*member][]*cell
	names    *atomic.Int64 // number of names that were made
	told     *atomic.Int64 // how often an attribute that shows a right was compared
	wrong    *findings
}

// findings has the cells with wrong results. The key contains path, verb, type and error.
type findings struct {
	sync.Mutex
	cells map[string][]*cell
}

// TestMatrix runs the cells and compares how they end. On SQLite, there is a member with each role in every
// place. On a server, each role has only one place, because other tests compare the answers of servers and
// SQLite. With -short, only a sample of the cells runs.
func TestMatrix(t *testing.T) {
	seed := testseed.New(t)
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			testseed.Print(t, seed)
			w := &world{
				t: t, seed: seed, url: start(t, dialect), rights: readTable(t), base: map[string]*slot{}, standing: map[string]*slot{},
				cells: map[*member][]*cell{}, names: &atomic.Int64{}, told: &atomic.Int64{}, wrong: &findings{cells: map[string][]*cell{}},
			}
			w.found()
			if w.acting = w.members; dialect == "mysql" {
				w.acting = oneOfEachRole(w.members)
			}
			w.plan()
			w.makeSlots()
			t.Run("members", func(t *testing.T) {
				for _, m := range w.acting {
					t.Run(m.String(), func(t *testing.T) {
						t.Parallel()
						testseed.Print(t, seed)
						at := *w
						at.t = t
						at.run(m)
					})
				}
			})
			t.Logf("%d answers about rights", w.told.Load())
			w.checkMade()
			w.checkStanding()
			w.report()
		})
	}
}

// oneOfEachRole returns one member of each role. The place differs from one role to the next.
func oneOfEachRole(members []*member) (some []*member) {
	for i, m := range members {
		if role := i / len(places); i%len(places) == role%len(places) {
			some = append(some, m)
		}
	}
	return some
}

// plan creates the cells of all combinations, and logs their number.
func (w *world) plan() {
	without, count := map[string]int{}, map[string]int{}
	all := append(types(), "webhook", "tag", "custom attribute")
	for _, kind := range slices.Sorted(maps.Keys(w.rights.Kinds)) {
		if kind != "project members" && !slices.ContainsFunc(all, func(typ string) bool { return w.rights.kindOf(typ, "") == kind }) {
			w.t.Errorf("no cell is about %s", kind)
		}
	}
	kinds, found := w.rights.kindsOfCells(all), []*cell(nil)
	for _, m := range w.acting {
		for _, k := range kinds {
			if k.without != "" {
				without[k.without]++
				continue
			}
			cells := w.cellsOf(m, k.typ, k.verb, k.path)
			if len(cells) == 0 {
				w.t.Fatalf("%s %s, %s: no cell, and no reason", k.verb, k.typ, k.path)
			}
			found = append(found, cells...)
		}
		found = append(found, w.assigned(m)...)
	}
	for _, c := range found {
		c.want = c.expect(w.rights)
	}
	if testing.Short() {
		found = w.sample(found, len(w.acting) < len(w.members))
	}
	for _, c := range found {
		w.add(c)
		count[c.path]++
	}
	w.print(count, without)
	w.t.Logf("%d of %d members, %d assets", len(w.acting), len(w.members), len(w.slots))
}

func (w *world) print(count, without map[string]int) {
	sum, ends := 0, map[string]int{}
	for _, cells := range w.cells {
		sum += len(cells)
		for _, c := range cells {
			ends[c.want.how]++
		}
	}
	w.t.Logf("%d cells: %v", sum, ends)
	for _, path := range slices.Sorted(maps.Keys(count)) {
		w.t.Logf("%8d %s", count[path], path)
	}
	for _, reason := range slices.Sorted(maps.Keys(without)) {
		w.t.Logf("%8d without: %s", without[reason], reason)
	}
}

// report fails the test for each kind of wrong result, with a few of the cells as examples.
func (w *world) report() {
	for _, key := range slices.Sorted(maps.Keys(w.wrong.cells)) {
		cells := w.wrong.cells[key]
		text := fmt.Sprintf("%d cells, %s", len(cells), key)
		for _, c := range cells[:min(len(cells), 3)] {
			text += "\n\t" + c.String()
		}
		w.t.Error(text)
	}
}
