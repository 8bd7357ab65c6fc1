package system

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// systemStatus is the state of the installation. Spec: interface 4.16.
type systemStatus struct {
	Version, Process string
	At               time.Time
	Schema           struct{ Version, Expected int }
	Database         struct{ Server string }
	Processes        []process
	Work             struct {
		WaitingChanges, SetAsideChanges, DueDeliveries, LaterDeliveries, AcceptedRequests waiting

		PausedSubscriptions, RestingSubscriptions int
	}
	Queue struct {
		Reachable                                   bool
		Pending, Active, Scheduled, Retry, Archived int
	}
	SlowQueries []slowQuery
	Links       []struct{ Name, URL string }
}

// process is a process of the service as it was last seen.
type process struct {
	ID, Role, Version, Host string
	Started, Seen           time.Time
	Alive                   bool

	Here   bool          // the process that answered
	Other  bool          // runs another version than the process that answered
	Silent time.Duration // time since it was seen, if it is not alive
}

// waiting is the number of waiting entries and the time of the oldest one.
type waiting struct {
	Count  int
	More   bool
	Oldest *time.Time
}

// slowQuery is a slow query, without its values.
type slowQuery struct {
	At                time.Time
	Process           string
	Milliseconds      float64
	TotalMilliseconds float64
	Rows, Count       int
	Query             string
	Cut               bool

	Where   string // role and host of the process
	Short   string // beginning of the query
	Console string // link to the console, with empty values; empty: the query is incomplete
	Blank   bool   // its values were replaced by empty values
}

// systemPage is the data of the system page.
type systemPage struct {
	systemStatus
	Versions []string // versions of the running processes, if they differ
	Waits    []work
	Tasks    []work
	Check    check
	Settings settings
}

// work is a row with one kind of waiting work.
type work struct {
	waiting
	Name, Means string
	Age         time.Duration // age of the oldest entry
	Later       bool          // the oldest entry is not yet due
	Bad         bool          // true: somebody must look at this work
}

// showSystem serves GET ui/system.
func showSystem(v *ui.Visit) error {
	var p systemPage
	if err := v.API.Get("api/system", &p.systemStatus); err != nil {
		return err
	}
	var err error
	if p.Check, err = readCheck(v); err != nil {
		return err
	}
	if err := v.API.Get("api/system/settings", &p.Settings); err != nil {
		return err
	}
	p.compare()
	p.Waits, p.Tasks = p.waits(), p.tasks()
	for i := range p.Waits {
		if w := &p.Waits[i]; w.Oldest != nil {
			w.Age = p.At.Sub(*w.Oldest)
		}
	}
	for i := range p.SlowQueries {
		describeSlow(v, &p, &p.SlowQueries[i])
	}
	v.Sends("api/system/check", "")
	v.Sends("api/system/settings", `{"StoryTrackingLevel": "Off"}`)
	return v.Render("system", "System", p)
}

// compare finds the processes that run another version than the process that answered.
func (p *systemPage) compare() {
	count := map[string]int{}
	var order []string
	for i := range p.Processes {
		one := &p.Processes[i]
		one.Here = one.ID == p.Process
		if !one.Alive {
			one.Silent = p.At.Sub(one.Seen)
			continue
		}
		one.Other = one.Version != p.Version
		if count[one.Version]++; count[one.Version] == 1 {
			order = append(order, one.Version)
		}
	}
	if len(order) < 2 {
		return
	}
	for _, version := range order {
		p.Versions = append(p.Versions, fmt.Sprintf("%s (%s)", version, ui.Counted(count[version], "process", "processes")))
	}
}

// waits returns the rows for work that waits in the database.
func (p *systemPage) waits() []work {
	w := p.Work
	due := "Workers send them now."
	if w.PausedSubscriptions+w.RestingSubscriptions > 0 {
		due += fmt.Sprintf(" Those of %s and of %s wait longer.",
			ui.Counted(w.PausedSubscriptions, "paused subscription", "paused subscriptions"),
			ui.Counted(w.RestingSubscriptions, "receiver that fails", "receivers that fail"))
	}
	return []work{
		{waiting: w.WaitingChanges, Name: "Changes", Means: "Workers make the events of webhooks of them, within seconds. What waits for minutes says that workers are missing, or too few."},
		{waiting: w.SetAsideChanges, Name: "Changes set aside", Means: "Given up after five tries: their events were not made, and the log says why.", Bad: w.SetAsideChanges.Count > 0},
		{waiting: w.DueDeliveries, Name: "Deliveries that are due", Means: due},
		{waiting: w.LaterDeliveries, Name: "Deliveries for later", Means: "An attempt has failed, and the time of the next has not come.", Later: true},
		{waiting: w.AcceptedRequests, Name: "Requests in the background", Means: "Accepted with Prefer: respond-async; each worker carries out one at a time."},
	}
}

// tasks returns the rows for work that waits in the queue.
func (p *systemPage) tasks() []work {
	q := p.Queue
	return []work{
		{waiting: waiting{Count: q.Pending}, Name: "Pending", Means: "Waiting for a worker."},
		{waiting: waiting{Count: q.Active}, Name: "Active", Means: "Being processed."},
		{waiting: waiting{Count: q.Scheduled}, Name: "Scheduled", Means: "Due later."},
		{waiting: waiting{Count: q.Retry}, Name: "Retry", Means: "Failed, and will be tried again."},
		{waiting: waiting{Count: q.Archived}, Name: "Archived", Means: "Failed too often. Look at the error and run it again."},
	}
}

// shortQuery limits the characters of a query in the table.
const shortQuery = 300

// withEmptyValues replaces the placeholders of values by empty values, so that the query can be
// sent. It leaves the placeholder for the number of an Oid, because this number cannot be empty.
// Spec: interface 4.16.
var withEmptyValues = strings.NewReplacer(`'?'`, "''", `"?"`, `""`)

// describeSlow sets where a query ran and the link to the console.
func describeSlow(v *ui.Visit, p *systemPage, q *slowQuery) {
	q.Where = "a process that has ended"
	for _, one := range p.Processes {
		if one.ID == q.Process {
			q.Where = one.Role + " on " + one.Host
		}
	}
	q.Short = q.Query
	if cut := []rune(q.Query); len(cut) > shortQuery {
		q.Short = string(cut[:shortQuery]) + "…"
	}
	request := withEmptyValues.Replace(q.Query)
	if q.Blank = request != q.Query; !q.Cut && !strings.Contains(request, "?") {
		q.Console = v.Link("/ui/console", "path", "query.v1", "request", ui.IndentedJSON([]byte(request)))
	}
}

// span formats a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return "less than a second"
	case d < 2*time.Minute:
		return ui.Counted(int(d/time.Second), "second", "seconds")
	case d < 2*time.Hour:
		return ui.Counted(int(d/time.Minute), "minute", "minutes")
	case d < 48*time.Hour:
		return ui.Counted(int(d/time.Hour), "hour", "hours")
	}
	return ui.Counted(int(d/(24*time.Hour)), "day", "days")
}

// milliseconds formats the mean of n durations, whose sum is total.
func milliseconds(total float64, n int) string {
	mean := total / float64(max(1, n))
	if mean < 10 {
		return strconv.FormatFloat(mean, 'f', 1, 64) + " ms"
	}
	return ui.Thousands(int(mean+.5)) + " ms"
}
