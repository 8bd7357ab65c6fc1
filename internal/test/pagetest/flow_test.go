package pagetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// TestNumbersOfPastDays compares the numbers on the pages flow and burndown for past days with the results
// of queries as of the end of each day. The backlog has changes of every kind. The pages are read by an
// administrator and by a member who does not see everything.
func TestNumbersOfPastDays(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects() {
		t.Run(dialect, func(t *testing.T) {
			r := seeded(t, "past days")
			var stories []story
			if *backlogFile != "" {
				stories = readBacklog(t, *backlogFile)
			} else {
				stories = makeBacklog(r)
			}
			begin := time.Now()
			p := newPast(t, dialect, r, stories)
			for d := range pastDays {
				p.live(d)
			}
			loaded := time.Now()
			all := p.reader("admin").compareAll()
			some := p.reader(observerName).compareAll()
			if some <= 0 || some >= all {
				t.Errorf("the flow has %v in all for an administrator, and %v for who sees less", all, some)
			}
			t.Logf("%d items of %d, %d tasks and tests, %d versions, in %s; %d days with %d numbers compared in %s, %d differ", len(p.items), len(stories), len(p.parts), p.versions(),
				loaded.Sub(begin).Round(time.Second), p.days, p.numbers, time.Since(loaded).Round(time.Second), p.mismatches)
		})
	}
}

// reader is a member who reads pages and sends queries about them.
type reader struct {
	*past
	api   *site
	token string // token of the member's session
}

// reader returns a reader that is signed in. The parameter user is the username of the reader.
func (p *past) reader(user string) *reader {
	p.t.Helper()
	r := &reader{past: p, api: p.as(user)}
	var session struct{ Token string }
	r.api.post("/api/tokens", object{"session": true}, &session)
	r.token = session.Token
	return r
}

// where returns a filter for the items of the parent project. If below is not "0", it includes the projects
// below the parent.
func (p *past) where(below string) string {
	if below == "0" {
		return "Scope='" + p.parent + "'"
	}
	return "Scope.ParentMeAndUp='" + p.parent + "'"
}

// compareAll compares the flow and all burndowns, with and without the projects below. It returns the sum
// of all numbers of the flow with the projects below.
func (r *reader) compareAll() (total float64) {
	r.t.Helper()
	for _, below := range []string{"0", ""} {
		total = r.compareFlow(below)
		for _, sprint := range r.sprints {
			r.compareBurndown(sprint, below)
		}
	}
	return total
}

// compareFlow compares the page flow, from three days before the first day on. It returns the sum of the
// numbers.
func (r *reader) compareFlow(below string) float64 {
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
	return r.compare("flow "+below, tables, items, estimates)
}

// compareBurndown compares the page burndown of a sprint, for the days of the sprint up to today.
func (r *reader) compareBurndown(sprint, below string) {
	r.t.Helper()
	tables := r.tables("/sprint/" + sprint + "/burndown?below=" + below)
	for _, table := range tables {
		for _, cells := range table {
			delete(cells, "Ideal")
		}
	}
	toDo, open := numbers{}, numbers{}
	for _, d := range r.daysOf(sprint) {
		toDo.day(d)
		open.day(d)
		for _, row := range r.asOf(d, object{"from": "Workitem", "filter": []string{r.where(below), "Timebox='" + sprint + "'"}, "select": []string{"ToDo", "AssetState", "PrimaryWorkitem.Estimate"}}) {
			toDo.add(d, "To do", row["ToDo"])
			if row["AssetState"] != "Closed" {
				open.add(d, "Open", row["PrimaryWorkitem.Estimate"])
			}
		}
	}
	r.compare("burndown of "+sprint+" "+below, tables, toDo, open)
}

// daysOf returns the days of a sprint, but not after today.
func (r *reader) daysOf(sprint string) (days []time.Time) {
	r.t.Helper()
	var rows [][]struct{ BeginDate, EndDate string }
	r.api.post("/query.v1", object{"from": sprint, "select": []string{"BeginDate", "EndDate"}}, &rows)
	end := rows[0][0].EndDate[:len(time.DateOnly)]
	begin, err := time.Parse(time.DateOnly, rows[0][0].BeginDate[:len(time.DateOnly)])
	if err != nil {
		r.t.Fatal(err)
	}
	for d := begin; d.Format(time.DateOnly) < end && d.Before(r.first.AddDate(0, 0, pastDays)); d = d.AddDate(0, 0, 1) {
		days = append(days, d)
	}
	return days
}

// compare compares the tables of a page with the results of queries. Zeros count as missing. It returns the
// sum of the results.
func (r *reader) compare(what string, got []numbers, want ...numbers) (total float64) {
	r.t.Helper()
	if len(got) != len(want) {
		r.t.Fatalf("%s: %d tables, want %d", what, len(got), len(want))
	}
	for i := range want {
		for _, key := range slices.Sorted(maps.Keys(want[i])) {
			r.days++
			r.numbers += len(got[i][key])
			_, there := got[i][key]
			for _, n := range []map[string]float64{want[i][key], got[i][key]} {
				maps.DeleteFunc(n, func(_ string, v float64) bool { return v == 0 })
			}
			for _, v := range want[i][key] {
				total += v
			}
			if !there || !maps.Equal(want[i][key], got[i][key]) {
				r.mismatches++
				r.t.Errorf("%s of %s, table %d, %s: the page has %v, queries find %v", what, r.api.user, i, key, got[i][key], want[i][key])
			}
		}
	}
	r.t.Logf("%s of %s: %d days, %v in all", what, r.api.user, len(want[0]), total)
	return total
}

// asOf returns the result of a query as of the end of a day, without templates and broken-down assets. The
// query has no filter on AssetState, because it would then also find assets in deleted projects.
func (r *reader) asOf(d time.Time, q object) []object {
	r.t.Helper()
	q["asof"] = d.Add(day - time.Millisecond).Format("2006-01-02T15:04:05.000Z")
	var results [][]object
	r.api.post("/query.v1", q, &results)
	return slices.DeleteFunc(results[0], func(row object) bool { return row["AssetState"] == "Template" || row["AssetState"] == "Broken Down" })
}
