package pagetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/testdb"
)

const (
	pastDays     = 30 // whose changes the tests of flows make
	changesADay  = 14
	day          = 24 * time.Hour
	observerName = "observer"
)

// past is a service whose changes lie on different days.
type past struct {
	*site
	db    *db.DB
	rand  *rand.Rand
	first time.Time // begin of the first day

	projects, sprints, items, parts []string // what changes
	parent                          string
}

// TestNumbersOfPastDays: what flow and burndown show of a day is what queries as of its
// end find, after changes of every kind, for an administrator and for a member who does
// not see everything.
func TestNumbersOfPastDays(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			p := newPast(t, dialect, seed)
			for d := range pastDays {
				before := p.moment()
				for range changesADay {
					p.change(d)
				}
				p.onDay(d, before)
			}
			for _, user := range []string{"admin", observerName} {
				r := p.reader(user)
				for _, below := range []string{"", "0"} {
					r.compareFlow(below)
					for _, sprint := range p.sprints {
						r.compareBurndown(sprint, below)
					}
				}
			}
		})
	}
}

// newPast runs a service with two projects below a third, one elsewhere that the
// observer does not see, and two sprints.
func newPast(t *testing.T, dialect string, seed uint64) *past {
	url := testdb.EmptyURL(t, dialect)
	p := &past{site: serveOn(t, dialect, url), rand: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // a test repeats by its seed
	p.first = time.Now().UTC().Truncate(day).Add(-(pastDays - 1) * day)
	var err error
	if p.db, err = db.Open(t.Context(), url, db.Options{MaxConns: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.db.Close() })
	at := func(days int) string { return p.first.AddDate(0, 0, days).Format(time.DateOnly) }
	made := p.send(
		object{"@s": object{"AssetType": "Schedule", "Name": "Sprints"}},
		object{"@p": object{"AssetType": "Scope", "Name": "Parent", "Parent": "Scope:0", "BeginDate": "2020-01-01", "Schedule": "@s"}},
		object{"@a": object{"AssetType": "Scope", "Name": "A", "Parent": "@p", "BeginDate": "2020-01-01", "Schedule": "@s"}},
		object{"@b": object{"AssetType": "Scope", "Name": "B", "Parent": "@p", "BeginDate": "2020-01-01", "Schedule": "@s"}},
		object{"@x": object{"AssetType": "Scope", "Name": "Elsewhere", "Parent": "Scope:0", "BeginDate": "2020-01-01"}},
		object{"@1": object{"AssetType": "Timebox", "Name": "One", "Schedule": "@s", "State": "State:101", "BeginDate": at(2), "EndDate": at(16)}},
		object{"@2": object{"AssetType": "Timebox", "Name": "Two", "Schedule": "@s", "State": "State:101", "BeginDate": at(16), "EndDate": at(pastDays + 5)}},
		object{"@m": object{"AssetType": "Member", "Name": observerName, "Nickname": observerName, "Username": observerName, "Password": password, "DefaultRole": "Role:0"}},
		object{"from": "@p", "execute": object{"op": "AssignMemberWithRole", "args": object{"Member": "@m", "Role": "Role:8", "IsOwner": false}}},
	)
	p.projects, p.sprints, p.parent = made[1:5], made[5:7], made[1]
	for i, oid := range p.projects {
		p.projects[i] = cut(oid)
	}
	p.parent, p.sprints[0], p.sprints[1] = cut(p.parent), cut(p.sprints[0]), cut(p.sprints[1])
	return p
}

// cut takes the moment from an Oid.
func cut(oid string) string { return strings.Join(strings.SplitN(oid, ":", 3)[:2], ":") }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// change makes a random change of a day; one that the service refuses changes nothing.
func (p *past) change(d int) {
	p.t.Helper()
	if len(p.items) < 5 || p.rand.IntN(4) == 0 {
		p.create(d)
		return
	}
	item, number := pick(p.rand, p.items), func() int { return p.rand.IntN(9) }
	if len(p.parts) > 0 && p.rand.IntN(4) == 0 {
		item = pick(p.rand, p.parts)
	}
	status := []any{"StoryStatus:133", "StoryStatus:134", "StoryStatus:135", "StoryStatus:137", nil}
	update := func(name string, value any) object { return object{"from": item, "update": object{name: value}} }
	run := func(op string) object {
		return object{"from": item, "where": object{"AssetState": pick(p.rand, []string{"Active", "Closed", "Deleted"})}, "execute": op}
	}
	scope := func(op string, state string) object {
		return object{"from": p.projects[2], "where": object{"AssetState": state}, "execute": op}
	}
	changes := []func() object{
		func() object { return update("Scope", pick(p.rand, p.projects)) },
		func() object { return update("Timebox", pick(p.rand, []any{p.sprints[0], p.sprints[1], nil})) },
		func() object { return update("Timebox", pick(p.rand, p.sprints)) },
		func() object { return update("Status", pick(p.rand, status)) },
		func() object { return update("Status", pick(p.rand, status)) },
		func() object { return update("Estimate", pick(p.rand, []any{number(), 0.5, nil})) },
		func() object { return update("ToDo", pick(p.rand, []any{number(), 2.5, nil})) },
		func() object { return update("ToDo", number()) },
		func() object { return update("Name", fmt.Sprint(number())) },
		func() object { return run("Inactivate") },
		func() object { return run("Reactivate") },
		func() object { return run("Delete") },
		func() object { return run("Undelete") },
		func() object {
			return run(pick(p.rand, []string{"QuickClose", "MakeTemplate", "Breakdown", "EpicToStory", "Split"}))
		},
		func() object {
			return object{"from": p.projects[1], "update": object{"Parent": pick(p.rand, []string{p.parent, p.projects[3], p.projects[2]})}}
		},
		func() object { return scope("Delete", "Active") },
		func() object { return scope("Undelete", "Deleted") },
		func() object { return scope("Undelete", "Deleted") },
		func() object {
			begin := p.rand.IntN(10)
			return object{"from": p.sprints[0], "update": object{
				"BeginDate": p.first.AddDate(0, 0, begin).Format(time.DateOnly), "EndDate": p.first.AddDate(0, 0, begin+1+p.rand.IntN(20)).Format(time.DateOnly),
			}}
		},
	}
	p.try(pick(p.rand, changes)())
}

// create makes an item, perhaps with a date that lies back, and perhaps with a task.
func (p *past) create(d int) {
	item := object{
		"AssetType": pick(p.rand, []string{"Story", "Story", "Defect"}), "Name": "An item", "Scope": pick(p.rand, p.projects),
		"Estimate": p.rand.IntN(9), "ToDo": p.rand.IntN(9), "Status": pick(p.rand, []any{"StoryStatus:133", "StoryStatus:135", nil}),
		"Timebox": pick(p.rand, []any{p.sprints[0], p.sprints[1], nil}),
	}
	commands := []object{item}
	if p.rand.IntN(3) == 0 {
		item["CreateDate"] = "2019-05-06"
		item["ChangeDate"] = p.first.AddDate(0, 0, -p.rand.IntN(d+40)+d).Add(-time.Minute).Format(time.RFC3339)
		commands = []object{{"config": "import"}, item}
	}
	if p.rand.IntN(3) == 0 {
		item["Children"] = []object{{"AssetType": pick(p.rand, []string{"Task", "Test"}), "Name": "A part", "ToDo": p.rand.IntN(5)}}
	}
	for _, oid := range p.try(commands...) {
		if oid = cut(oid); strings.HasPrefix(oid, "Task") || strings.HasPrefix(oid, "Test:") {
			p.parts = append(p.parts, oid)
		} else {
			p.items = append(p.items, oid)
		}
	}
}

// try sends commands, which may fail, and returns what was created.
func (p *past) try(commands ...object) []string {
	p.t.Helper()
	var answer outcome
	p.post("/api/asset", commands, &answer)
	return answer.AssetsCreated.OidTokens
}

// reader is a member who reads pages and sends queries.
type reader struct {
	*past
	api   *site
	token string // of a session
}

// reader signs a member in.
func (p *past) reader(user string) *reader {
	p.t.Helper()
	r := &reader{past: p, api: p.as(user)}
	var session struct{ Token string }
	r.api.post("/api/tokens", object{"session": true}, &session)
	r.token = session.Token
	return r
}

// moment is the last that was assigned.
func (p *past) moment() (last int64) {
	p.t.Helper()
	if err := p.db.QueryRow(p.t.Context(), "SELECT COALESCE(MAX(last_moment), 0) FROM moment_stamp").Scan(&last); err != nil {
		p.t.Fatal(err)
	}
	return last
}

// onDay puts the changes since a moment on a day: the first of them at its very begin,
// or the last at its very end. What was imported keeps the dates that were given.
func (p *past) onDay(d int, before int64) {
	p.t.Helper()
	ctx, begin := p.t.Context(), p.first.Add(time.Duration(d)*day)
	var least, most int64
	if err := p.db.QueryRow(ctx, "SELECT MIN(at), MAX(at) FROM moment_stamp WHERE last_moment > ?", before).Scan(&least, &most); err != nil {
		p.t.Fatal(err)
	}
	by := begin.UnixMicro() - least
	if p.rand.IntN(2) == 0 {
		by = begin.Add(day-time.Millisecond).UnixMicro() - most
	}
	for _, statement := range []string{
		"UPDATE asset_version SET changed_at = changed_at + ? WHERE moment > ? AND changed_at >= ?",
		"UPDATE moment_stamp SET at = at + ? WHERE last_moment > ? AND at >= ?",
	} {
		if _, err := p.db.Exec(ctx, statement, by, before, least); err != nil {
			p.t.Fatal(err)
		}
	}
}

// where is the condition of work in the project.
func (p *past) where(below string) string {
	if below == "0" {
		return "Scope='" + p.parent + "'"
	}
	return "Scope.ParentMeAndUp='" + p.parent + "'"
}

func (r *reader) compareFlow(below string) {
	r.t.Helper()
	from, to := r.first.AddDate(0, 0, -3), r.first.AddDate(0, 0, pastDays-1)
	tables := r.tables(fmt.Sprintf("/flow?below=%s&from=%s&to=%s", below, from.Format(time.DateOnly), to.Format(time.DateOnly)))
	items, estimates := numbers{}, numbers{}
	for d := from; !d.After(to); d = d.Add(day) {
		items.day(d)
		estimates.day(d)
		for _, row := range r.asOf(d, object{"from": "PrimaryWorkitem", "filter": []string{r.where(below)}, "select": []string{"Status.Name", "AssetState", "Estimate"}}) {
			name, _ := row["Status.Name"].(string)
			if name == "" {
				name = "No status"
			}
			if row["AssetState"] == "Closed" {
				name = "Closed"
			}
			items.add(d, name, "1")
			estimates.add(d, name, row["Estimate"])
		}
	}
	r.compare("flow "+below, tables, items, estimates)
}

func (r *reader) compareBurndown(sprint, below string) {
	r.t.Helper()
	tables := r.tables("/sprint/" + sprint + "?below=" + below)
	toDo, open := numbers{}, numbers{}
	if len(tables) != 2 {
		r.t.Fatalf("%d tables in the page of %s", len(tables), sprint)
	}
	for text, cells := range tables[0] {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			r.t.Fatal(err)
		}
		delete(cells, "Ideal")
		delete(tables[1][text], "Ideal")
		if d.After(time.Now()) {
			continue
		}
		toDo.add(d, "To do", "0")
		open.add(d, "Open", "0")
		for _, row := range r.asOf(d, object{"from": "Workitem", "filter": []string{r.where(below), "Timebox='" + sprint + "'"}, "select": []string{"ToDo", "AssetState", "PrimaryWorkitem.Estimate"}}) {
			toDo.add(d, "To do", row["ToDo"])
			if row["AssetState"] != "Closed" {
				open.add(d, "Open", row["PrimaryWorkitem.Estimate"])
			}
		}
	}
	r.compare("burndown of "+sprint+" "+below, tables, toDo, open)
}

// compare holds tables of a page against what was found, zeros aside.
func (r *reader) compare(what string, got []numbers, want ...numbers) {
	r.t.Helper()
	if len(got) != len(want) {
		r.t.Errorf("%s: %d tables, want %d", what, len(got), len(want))
		return
	}
	total := 0.0
	for i := range want {
		for _, key := range slices.Sorted(maps.Keys(want[i])) {
			for _, n := range []map[string]float64{want[i][key], got[i][key]} {
				maps.DeleteFunc(n, func(_ string, v float64) bool { return v == 0 })
			}
			for _, v := range want[i][key] {
				total += v
			}
			if !maps.Equal(want[i][key], got[i][key]) {
				r.t.Errorf("%s, table %d, %s: the page has %v, queries find %v", what, i, key, got[i][key], want[i][key])
			}
		}
	}
	r.t.Logf("%s: %d days, %v in all", what, len(want[0]), total)
}

// asOf queries as of the end of a day what is not dead. A filter would do, but one on
// AssetState finds what lies in deleted projects, too.
func (r *reader) asOf(d time.Time, q object) []object {
	r.t.Helper()
	q["asof"] = d.Add(day - time.Millisecond).Format("2006-01-02T15:04:05.000Z")
	var results [][]object
	r.api.post("/query.v1", q, &results)
	return slices.DeleteFunc(results[0], func(row object) bool { return row["AssetState"] == "Template" || row["AssetState"] == "Broken Down" })
}
