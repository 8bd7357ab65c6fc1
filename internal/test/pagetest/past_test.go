package pagetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

const (
	pastDays     = 30 // number of days with changes
	planChanges  = 3  // average number of changes of projects and sprints in a day
	day          = 24 * time.Hour
	observerName = "observer"
)

// past is a service whose data has changes on different days.
type past struct {
	*site
	db    *db.DB
	rand  *rand.Rand
	first time.Time // start of the first day

	waiting    []story           // items that are not created yet
	changes    int               // number of changes on each day
	atOnce     int               // most commands in one request
	parent     string            // project whose pages are tested
	elsewhere  string            // project outside the parent
	hidden     string            // project below the parent that the observer does not see
	movable    []string          // other projects below the parent, which are moved and deleted
	scopeOf    map[string]string // Oid by name, for each project of the backlog
	sprints    []string
	items      []string
	parts      []string
	points     []float64 // all estimates of the backlog
	days       int       // number of table rows that were compared
	numbers    int       // number of numbers in these rows
	mismatches int       // number of rows that differ
}

// newPast starts a service with a parent project, the projects of the backlog below it, and three sprints.
// It does not create the items.
func newPast(t *testing.T, dialect string, r *rand.Rand, stories []story) *past {
	t.Helper()
	url := testdb.EmptyURL(t, dialect)
	p := &past{site: serveOn(t, dialect, url), rand: r, waiting: stories, changes: len(stories) / 10, atOnce: max(5, len(stories)/40)}
	p.first = time.Now().UTC().Truncate(day).Add(-(pastDays - 1) * day)
	for _, s := range stories {
		p.points = append(p.points, s.points)
	}
	r.Shuffle(len(stories), func(i, k int) { stories[i], stories[k] = stories[k], stories[i] })
	var err error
	if p.db, err = db.Open(t.Context(), url, db.Options{MaxConns: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.db.Close() })
	before := p.moment()
	p.plan(projectsOf(stories))
	p.onDay(-1, before)
	return p
}

// plan creates the projects, the sprints and the observer.
func (p *past) plan(projects []string) {
	p.t.Helper()
	at := func(days int) string { return p.first.AddDate(0, 0, days).Format(time.DateOnly) }
	sprint := func(name string, begin, end int) object {
		return object{"AssetType": "Timebox", "Name": name, "Schedule": "@s", "State": "State:101", "BeginDate": at(begin), "EndDate": at(end)}
	}
	scope := func(name, above string) object {
		return object{"AssetType": "Scope", "Name": name, "Parent": above, "BeginDate": "2020-01-01", "Schedule": "@s"}
	}
	commands := []object{
		{"@s": object{"AssetType": "Schedule", "Name": "Sprints"}},
		sprint("One", 0, 12), sprint("Two", 12, 24), sprint("Three", 24, pastDays+6),
		{"@p": scope("All of them", "Scope:0")},
		scope("Elsewhere", "Scope:0"),
	}
	for _, name := range projects {
		commands = append(commands, scope(name, "@p"))
	}
	made := p.send(commands...)
	for i := range made {
		made[i] = cut(made[i])
	}
	p.sprints, p.parent, p.elsewhere = made[1:4], made[4], made[5]
	below := made[6:]
	p.movable, p.hidden = below[1:], below[0]
	p.scopeOf = map[string]string{}
	for i, name := range projects {
		p.scopeOf[name] = below[i]
	}
	role := func(scope, role string) object {
		return object{"from": scope, "execute": object{"op": "AssignMemberWithRole", "args": object{"Member": "@m", "Role": role, "IsOwner": false}}}
	}
	p.send(
		object{"@m": object{"AssetType": "Member", "Name": observerName, "Nickname": observerName, "Username": observerName, "Password": password, "DefaultRole": "Role:0"}},
		role(p.parent, "Role:8"), role(p.hidden, "Role:0"),
	)
}

// cut removes the moment from an Oid.
func cut(oid string) string { return strings.Join(strings.SplitN(oid, ":", 3)[:2], ":") }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// live creates the items of day d and makes random changes, in requests of different sizes. Half of the
// items are created on the first day, and the last of them on the last day.
func (p *past) live(d int) {
	p.t.Helper()
	before := p.moment()
	arriving, changes := len(p.waiting)/(pastDays-d), p.changes
	switch d {
	case 0:
		arriving = len(p.waiting) / 2
	case pastDays - 1:
		p.send(object{"from": "Scope", "where": object{"AssetState": "Deleted"}, "execute": "Undelete"})
	}
	for arriving+changes > 0 {
		n := 1 + p.rand.IntN(p.atOnce)
		if arriving > 0 && (len(p.items) == 0 || d == pastDays-1 || p.rand.IntN(arriving+changes) < arriving) {
			n = min(n, arriving)
			now := p.waiting[:n]
			p.waiting = p.waiting[n:]
			p.create(d, now)
			arriving -= n
			continue
		}
		n = min(n, changes)
		commands := make([]object, n)
		for i := range commands {
			commands[i] = p.change()
		}
		p.try(commands...)
		changes -= n
	}
	p.onDay(d, before)
}

// change returns a command for a random change. The service may refuse the command.
func (p *past) change() object {
	if p.rand.IntN(p.changes) < planChanges {
		return p.changePlan()
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
	return pick(p.rand, []func() object{
		func() object { return update("Scope", p.parent) },
		func() object {
			return update("Scope", pick(p.rand, append([]string{p.parent, p.elsewhere, p.hidden}, p.movable...)))
		},
		func() object {
			return update("Timebox", pick(p.rand, []any{p.sprints[0], p.sprints[1], p.sprints[2], nil}))
		},
		func() object { return update("Timebox", pick(p.rand, p.sprints)) },
		func() object { return update("Status", pick(p.rand, status)) },
		func() object { return update("Status", pick(p.rand, status)) },
		func() object { return update("Estimate", pick(p.rand, p.points)) },
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
	})()
}

// changePlan returns a command for a random change of a project or of the first sprint. It never changes
// the hidden project.
func (p *past) changePlan() object {
	project := pick(p.rand, p.movable)
	run := func(op, state string) object {
		return object{"from": project, "where": object{"AssetState": state}, "execute": op}
	}
	switch p.rand.IntN(8) {
	case 0, 1:
		return object{"from": project, "update": object{"Parent": p.parent}}
	case 2:
		return object{"from": project, "update": object{"Parent": pick(p.rand, append([]string{p.elsewhere, p.hidden}, p.movable...))}}
	case 3:
		return run("Delete", "Active")
	case 4, 5:
		return run("Undelete", "Deleted")
	default:
		begin := p.rand.IntN(10)
		return object{"from": p.sprints[0], "update": object{
			"BeginDate": p.first.AddDate(0, 0, begin).Format(time.DateOnly), "EndDate": p.first.AddDate(0, 0, begin+1+p.rand.IntN(20)).Format(time.DateOnly),
		}}
	}
}

// create creates items on day d, some of them with a task or a test. Sometimes it creates all of them as an
// import with earlier dates. The service refuses items of a deleted project; live tries them again later.
func (p *past) create(d int, stories []story) {
	p.t.Helper()
	imported := p.rand.IntN(3) == 0
	var commands []object
	if imported {
		commands = append(commands, object{"config": "import"})
	}
	for _, s := range stories {
		item := object{
			"AssetType": pick(p.rand, []string{"Story", "Story", "Defect"}), "Name": s.title, "Scope": p.scopeOf[s.project], "Reference": s.key, "Description": s.description,
			"Estimate": s.points, "ToDo": p.rand.IntN(9), "Status": pick(p.rand, []any{"StoryStatus:133", "StoryStatus:135", nil}),
			"Timebox": pick(p.rand, []any{p.sprints[0], p.sprints[1], p.sprints[2], nil}),
		}
		if imported && p.rand.IntN(3) > 0 {
			item["CreateDate"] = "2019-05-06"
			item["ChangeDate"] = p.first.AddDate(0, 0, -p.rand.IntN(d+40)+d).Add(-time.Minute).Format(time.RFC3339)
		}
		if p.rand.IntN(3) == 0 {
			item["Children"] = []object{{"AssetType": pick(p.rand, []string{"Task", "Test"}), "Name": "A part", "ToDo": p.rand.IntN(5)}}
		}
		commands = append(commands, item)
	}
	answer := p.try(commands...)
	refused := map[int]bool{} // a task or test fails together with its item
	for _, failed := range answer.CommandFailures.Commands {
		refused[failed.Error.SourceCommandIndex-len(commands)+len(stories)] = true
	}
	for i, s := range stories {
		if refused[i] {
			p.waiting = append(p.waiting, s)
		}
	}
	for _, oid := range answer.AssetsCreated.OidTokens {
		if oid = cut(oid); strings.HasPrefix(oid, "Task") || strings.HasPrefix(oid, "Test:") {
			p.parts = append(p.parts, oid)
		} else {
			p.items = append(p.items, oid)
		}
	}
}

// try sends commands and returns the answer. Commands may fail.
func (p *past) try(commands ...object) (answer outcome) {
	p.t.Helper()
	p.post("/api/asset", commands, &answer)
	return answer
}

// moment returns the latest moment that the service has assigned.
func (p *past) moment() (last int64) {
	p.t.Helper()
	if err := p.db.QueryRow(p.t.Context(), "SELECT COALESCE(MAX(last_moment), 0) FROM moment_stamp").Scan(&last); err != nil {
		p.t.Fatal(err)
	}
	return last
}

// versions returns the number of versions of all assets.
func (p *past) versions() (n int) {
	p.t.Helper()
	if err := p.db.QueryRow(p.t.Context(), "SELECT COUNT(*) FROM asset_version").Scan(&n); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// onDay changes the times of all changes after a moment, the parameter before, so that these times are on
// day d. Either the first change is then at the start of the day, or the last change is at its end.
// Imported dates stay as they are.
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
