package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

// work is one row of the table. Both sides do the same work. Its variants are for different
// assets.
type work struct {
	name     string
	variants int
	reader   bool // true: sent as the member who sees only some of the scopes

	// One of these three is the request to the service.
	url  func(n int) string // the whole path
	path func(n int) string // a path below rest-1.v1/Data
	body func(n int) string // a body for query.v1

	// One of these three is the other side.
	floor answer             // hand-written SQL
	other func(n int) string // another body for query.v1, sent as the administrator
	xml   bool               // true: the same path with an answer in JSON; the request to the service gets XML
}

// compares reports whether another request to the service is measured instead of hand-written SQL.
func (w work) compares() bool { return w.other != nil || w.xml }

// answer appends the body of the answer to variant n to w and returns the result.
type answer func(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error)

const pageSelect = `"select": ["Name", "Estimate", "Status.Name", "Timebox.Name", "Owners.Name"]`

// works returns the rows of the table.
func works(l *layout) []work {
	stories, withEpics := l.stories(), l.scopesWithEpics()
	page := func(more string) func(n int) string {
		return func(n int) string {
			return fmt.Sprintf(`{"from": "Story", %s, "where": {"Scope": "Scope:%d"}, "sort": ["Order"], "page": {"start": 0, "size": 50}%s}`,
				pageSelect, busyScope(n), more)
		}
	}
	shared := func(n int) string {
		return fmt.Sprintf(`{"from": "Story", %s, "where": {"Scope": "Scope:%d"}, "sort": ["Order"], "page": {"start": 0, "size": 50}}`,
			pageSelect, firstScope+50+int64(n))
	}
	asOf := l.asOf().Format("2006-01-02T15:04:05")
	list := []work{
		{name: "page of 50", variants: busy, body: page(""), floor: floorPage},
		{name: "page of 50 of a project and a status", variants: busy, floor: floorPageOfStatus, body: func(n int) string {
			return fmt.Sprintf(`{"from": "Story", %s, "where": {"Scope": "Scope:%d", "Status": "StoryStatus:134"}, "sort": ["Order"], "page": {"start": 0, "size": 50}}`,
				pageSelect, busyScope(n))
		}},
		{name: "page of 50 by id, projects that filled early", variants: 30, floor: floorPageByID, body: byID(busyScope)},
		{name: "page of 50 by id, projects that filled late", variants: 30, floor: func(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
			return floorPageByID(ctx, q, busy-1-n, w)
		}, body: byID(func(n int) int64 { return busyScope(busy - 1 - n) })},
		{name: "point, rest-1", variants: len(stories), floor: func(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
			return floorPoint(ctx, q, stories[n], w)
		}, path: func(n int) string {
			return "Story/" + strconv.FormatInt(stories[n], 10) + "?sel=Name,Number,Estimate,Scope.Name,Status.Name"
		}},
		{name: "point with owners, query.v1", variants: len(stories), floor: func(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
			return floorPointOwners(ctx, q, stories[n], w)
		}, body: func(n int) string { return fmt.Sprintf(`{"from": "Story:%d", %s}`, stories[n], pageSelect) }},
		{name: "count in a scope, rest-1 page=1", variants: busy, floor: floorCount, path: func(n int) string {
			return fmt.Sprintf("Story?page=1&sel=Name&where=%s", url.QueryEscape(fmt.Sprintf("Scope='Scope:%d'", busyScope(n))))
		}},
		{name: "Workitems:Story.@Count of a scope", variants: busy, floor: floorWorkitems, body: func(n int) string {
			return fmt.Sprintf(`{"from": "Scope:%d", "select": ["Workitems:Story.@Count"]}`, busyScope(n))
		}},
		{name: "stories with Owners.@Count>'0', counted", variants: 1, floor: floorOwned, path: func(int) string {
			return "Story?page=1&sel=Name&where=" + url.QueryEscape("Owners.@Count>'0'")
		}},
		{name: "nested select, three deep", variants: len(withEpics), floor: func(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
			return floorNested(ctx, q, withEpics[n], w)
		}, body: func(n int) string {
			return fmt.Sprintf(`{"from": "Epic", "select": ["Name", {"from": "Subs:Story", "sort": ["Order"], "select": ["Name",
				{"from": "Children:Task", "sort": ["Order"], "select": ["Name", {"from": "Owners", "sort": ["Name"], "select": ["Name"]}]}]}],
				"where": {"Scope": "Scope:%d"}, "sort": ["Order"], "page": {"start": 0, "size": 10}}`, withEpics[n])
		}},
		{name: "Scope.ParentMeAndUp='Scope:0', page of 50", variants: 1, floor: floorTree, body: treeBody(func(int) int64 { return 0 })},
		{name: "Scope.ParentMeAndUp of a branch, page of 50", variants: 20, floor: floorBranch, body: treeBody(branchScope)},
		{name: "page of 50 of all a member sees", variants: 1, reader: true, floor: floorReader(readable()), body: func(int) string {
			return `{"from": "Story", "select": ["Name", "Scope.Name"], "sort": ["Order"], "page": {"start": 0, "size": 50}}`
		}},
		{name: "page as a member of 199 projects against administrator", variants: 10, reader: true, body: shared, other: shared},
		{name: "find on Name, rare word", variants: 1, floor: floorFind, body: func(int) string {
			return `{"from": "Story", "select": ["Name"], "find": "` + rare + `", "findin": ["Name"], "sort": ["Order"], "page": {"start": 0, "size": 50}}`
		}},
	}
	inXML := func(size int) func(int) string {
		return func(n int) string {
			where := ""
			if size <= 50 {
				where = "&where=" + url.QueryEscape(fmt.Sprintf("Scope='Scope:%d'", busyScope(n)))
			}
			return fmt.Sprintf("Story?sel=Name,Description,Estimate,Status,Owners,Owners.Name&sort=Order&page=%d%s", size, where)
		}
	}
	list = append(list,
		work{name: "page of 50 by path, XML against JSON", variants: busy, path: inXML(50), xml: true},
		work{name: "10,000 rows by path, XML against JSON", variants: 1, path: inXML(10_000), xml: true},
	)
	if l.versions > 1 {
		list = append(list,
			work{name: "as-of page of 50", variants: busy, body: page(`, "asof": "` + asOf + `"`), floor: floorAsOf(l.asOfMoment())},
			work{name: "as-of page against itself now", variants: busy, body: page(`, "asof": "` + asOf + `"`), other: page("")},
		)
	}
	return slices.Concat(list, streamWorks(l), feedWorks(l))
}

func byID(scope func(int) int64) func(int) string {
	return func(n int) string {
		return fmt.Sprintf(`{"from": "Story", %s, "where": {"Scope": "Scope:%d"}, "page": {"start": 0, "size": 50}}`, pageSelect, scope(n))
	}
}

// branchScope returns one of the thirty scopes at the top of the tree. Each has about a
// hundred scopes below it.
func branchScope(n int) int64 { return firstScope + int64(n) }

func treeBody(scope func(int) int64) func(int) string {
	return func(n int) string {
		return fmt.Sprintf(`{"from": "Story", "select": ["Name", "Scope.Name"], "filter": ["Scope.ParentMeAndUp='Scope:%d'"], "sort": ["Order"],
			"page": {"start": 0, "size": 50}}`, scope(n))
	}
}

// scopesWithEpics returns the busy scopes that have an epic that is not deleted.
func (l *layout) scopesWithEpics() []int64 {
	has := map[int64]bool{}
	for _, it := range l.items {
		has[it.scope] = has[it.scope] || it.typ == typeEpic && it.state != deleted
	}
	var ids []int64
	for n := range busy {
		if id := busyScope(n); has[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// stories returns the ids of some stories that are not deleted.
func (l *layout) stories() []int64 {
	var ids []int64
	for i := 0; i < len(l.items) && len(ids) < 1000; i += 37 {
		if it := l.items[i]; it.typ == typeStory && it.state != deleted {
			ids = append(ids, l.id(i))
		}
	}
	return ids
}

// requests returns the requests of a variant for both sides.
func (w work) requests(s *sides, n int) (service, floor []byte) {
	token := s.token
	if w.reader {
		token = s.reader
	}
	switch {
	case w.url != nil:
		service = rig.Get(w.url(n), token)
	case w.xml:
		path := "/alds/rest-1.v1/Data/" + w.path(n)
		return rig.GetXML(path, token), rig.Get(path, token)
	case w.path != nil:
		service = rig.Get("/alds/rest-1.v1/Data/"+w.path(n), token)
	default:
		service = rig.Post("/alds/query.v1", token, w.body(n))
	}
	if w.other != nil {
		return service, rig.Post("/alds/query.v1", s.token, w.other(n))
	}
	return service, rig.Get("/"+url.PathEscape(w.name)+"/"+strconv.Itoa(n), "")
}
