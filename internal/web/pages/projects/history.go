package projects

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/web/chart"
	"github.com/alds-dev/alds/internal/web/ui"
)

// A day's numbers are those that a query as of its end would give. One query for each
// day takes a second for ten thousand items, so the versions are read once, and each
// counts for the days at whose end it was in effect.

// itemVersion is a version of a piece of work.
type itemVersion struct {
	Oid      string `json:"_oid"` // with its moment
	State    string `json:"AssetState"`
	Scope    ui.Reference
	Status   ui.Reference
	Estimate json.Number
	Own      json.Number `json:"PrimaryWorkitem.Estimate"` // Estimate of backlog items alone
	ToDo     json.Number
	From     time.Time `json:"ChangeDateUTC"`
	To       time.Time `json:"RetireDateUTC"` // that of the next version, whoever sees it; zero: it lasts
}

// versionColumns are what all versions are read with.
var versionColumns = []string{"Scope", "AssetState", "ChangeDateUTC", "RetireDateUTC"}

// maxVersions is how many versions a drawing is made of at most.
const maxVersions = 150000

// dead are the states of what counts nowhere.
func (v *itemVersion) dead() bool {
	return v.State == "Deleted" || v.State == "Template" || v.State == "Broken Down"
}

// amount reads a number that may be absent. It is small enough for sums of as many
// versions as a drawing is made of.
func amount(n json.Number) float64 {
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return 0
	}
	return chart.Bounded(f)
}

// inEffect returns the instants at which a version was in effect: those from, and before
// to. Instants ascend.
func (v *itemVersion) inEffect(instants []time.Time) (from, to int) {
	from, _ = slices.BinarySearchFunc(instants, v.From, time.Time.Compare)
	if v.To.IsZero() {
		return from, len(instants)
	}
	to, _ = slices.BinarySearchFunc(instants, v.To, time.Time.Compare)
	return from, max(from, to)
}

// replay calls count for each version and each instant at which it was in effect, in a
// project that counted then, and not dead.
func replay(versions []itemVersion, instants []time.Time, scopes []map[string]bool, began starts, count func(i int, v *itemVersion)) {
	for k := range versions {
		v := &versions[k]
		if v.dead() {
			continue
		}
		from, to := v.inEffect(instants)
		from = began.first(v, from, to)
		for i := from; i < to; i++ {
			if scopes[i][v.Scope.Oid] {
				count(i, v)
			}
		}
	}
}

// starts corrects since when assets are there. The first version of one that was
// imported has the date that its importer gave, which lies before it was written; a
// query of the past finds it since it was written. Which of two first versions was
// written first their moments tell.
// Spec: interface 4.3.10.
type starts struct {
	moments []int64         // by instant: the last that was written by then
	unsure  map[string]bool // the versions whose date may have been given
}

// first returns the first instant of from and before to at which a version was there.
func (s starts) first(v *itemVersion, from, to int) int {
	if s.unsure[v.Oid] {
		moment := momentOf(v.Oid)
		for from < to && s.moments[from] < moment {
			from++
		}
	}
	return from
}

func momentOf(oid string) int64 {
	_, text := cutMoment(oid)
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// unsure returns the versions that follow no other of those read, in the order of their
// moments: only the date of an asset's first version may have been given.
func unsure(versions []itemVersion) []*itemVersion {
	type end struct {
		asset string
		at    int64
	}
	ends := map[end]bool{}
	for i := range versions {
		if v := &versions[i]; !v.To.IsZero() {
			asset, _ := cutMoment(v.Oid)
			ends[end{asset, v.To.UnixMilli()}] = true
		}
	}
	var list []*itemVersion
	for i := range versions {
		asset, _ := cutMoment(versions[i].Oid)
		if !ends[end{asset, versions[i].From.UnixMilli()}] {
			list = append(list, &versions[i])
		}
	}
	slices.SortFunc(list, func(a, b *itemVersion) int { return cmp.Compare(momentOf(a.Oid), momentOf(b.Oid)) })
	return list
}

// wasThere reports of an asset at each instant whether a query as of it finds it.
type wasThere func(assets []string, instants []time.Time) ([]bool, error)

// begin finds which first versions were there at each instant. Dates that were given lie
// before the true ones, so that at most the last of them by moment are not there yet:
// mostly it is enough to ask for the very last one.
func begin(versions []itemVersion, instants []time.Time, ask wasThere) (starts, error) {
	first := unsure(versions)
	s := starts{moments: make([]int64, len(instants)), unsure: make(map[string]bool, len(first))}
	for _, v := range first {
		s.unsure[v.Oid] = true
	}
	open := make([]search, len(instants))
	for i, at := range instants {
		s.moments[i] = math.MaxInt64
		open[i] = search{instant: at, place: i, next: -1}
	}
	for _, v := range first {
		from, to := v.inEffect(instants)
		for i := from; i < to; i++ {
			open[i].last = v
		}
	}
	return s, s.search(first, slices.DeleteFunc(open, func(o search) bool { return o.last == nil }), ask)
}

// search looks for the last first version that was there at an instant.
type search struct {
	instant  time.Time
	place    int
	last     *itemVersion   // the last that may have been there
	among    []*itemVersion // those that may; nil until the last one was not
	low, top int            // those before low were there, those from top were not
	next     int            // which is asked for; -1: the last
}

// search asks in rounds, for all instants together, and halves what is open.
func (s *starts) search(first []*itemVersion, open []search, ask wasThere) error {
	for len(open) > 0 {
		assets, instants := make([]string, len(open)), make([]time.Time, len(open))
		for i, o := range open {
			one := o.last
			if o.next >= 0 {
				one = o.among[o.next]
			}
			assets[i], _ = cutMoment(one.Oid)
			instants[i] = o.instant
		}
		there, err := ask(assets, instants)
		if err != nil {
			return err
		}
		rest := open[:0]
		for i, o := range open {
			if o.narrow(first, there[i]) {
				rest = append(rest, o)
			} else if o.among != nil {
				s.moments[o.place] = o.found()
			}
		}
		open = rest
	}
	return nil
}

// narrow takes an answer, and reports whether another one is needed.
func (o *search) narrow(first []*itemVersion, there bool) bool {
	switch {
	case o.next < 0 && there:
		return false
	case o.next < 0:
		for _, v := range first {
			if from, to := v.inEffect([]time.Time{o.instant}); from < to {
				o.among = append(o.among, v)
			}
		}
		o.top = len(o.among) - 1
	case there:
		o.low = o.next + 1
	default:
		o.top = o.next
	}
	o.next = (o.low + o.top) / 2
	return o.low < o.top
}

// found is the moment of the last version that was there.
func (o *search) found() int64 {
	if o.low == 0 {
		return -1
	}
	return momentOf(o.among[o.low-1].Oid)
}

// history is what has been in a project.
type history struct {
	versions []itemVersion
	instants []time.Time
	scopes   []map[string]bool // by instant: the projects that count
	began    starts
}

// replay calls count for each version and each instant at which it was in effect.
func (h *history) replay(count func(i int, v *itemVersion)) {
	replay(h.versions, h.instants, h.scopes, h.began, count)
}

// tooMany is the refusal of a drawing of too many versions.
func tooMany() error {
	return &ui.Error{Status: 400, Message: "More than " + strconv.Itoa(maxVersions) + " versions of items count for this. Take fewer days, or a project without those below it."}
}

// readHistory reads the versions that were in effect in a project at some of the instants,
// of what q asks for. Errors: *ui.Error.
func readHistory(v *ui.Visit, p *project, instants []time.Time, q ui.Query) (*history, error) {
	h := &history{instants: instants}
	if len(instants) == 0 {
		return h, nil
	}
	var err error
	if h.scopes, err = scopesAt(v, p, instants); err != nil {
		return nil, err
	}
	q["asof"], q["with"] = "All", map[string]any{"$Projects": allOf(h.scopes, p.Oid)}
	conditions, _ := q["filter"].([]string)
	q["filter"] = append(conditions, within, "AssetState>='0'",
		"ChangeDateUTC<='"+asOf(instants[len(instants)-1])+"'", "RetireDateUTC=''|RetireDateUTC>'"+asOf(instants[0])+"'")
	if err := readVersions(v, h, q); err != nil {
		return nil, err
	}
	h.began, err = begin(h.versions, instants, func(assets []string, instants []time.Time) ([]bool, error) {
		return askWhoWasThere(v, assets, instants)
	})
	return h, err
}

// versionPage is how many versions are read at once: a page may read answers of some
// megabytes.
const versionPage = 25000

// readVersions reads the versions that a query finds, page by page. Errors: *ui.Error.
func readVersions(v *ui.Visit, h *history, q ui.Query) error {
	known := texts{}
	for after := ""; ; {
		q["page"] = map[string]any{"size": versionPage, "after": after}
		var rows []itemVersion
		next, err := v.API.FindPage(q, &rows)
		if err != nil {
			return err
		}
		for i := range rows {
			rows[i].keep(known)
		}
		if h.versions = append(h.versions, rows...); len(h.versions) > maxVersions {
			return tooMany()
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

// texts has each text once.
type texts map[string]string

func (t texts) once(text string) string {
	if same, ok := t[text]; ok {
		return same
	}
	t[text] = text
	return text
}

// keep makes a version small: most of its texts are those of others, too.
func (v *itemVersion) keep(known texts) {
	v.State, v.Scope.Oid, v.Status.Oid = known.once(v.State), known.once(v.Scope.Oid), known.once(v.Status.Oid)
	for _, n := range []*json.Number{&v.Estimate, &v.Own, &v.ToDo} {
		*n = json.Number(known.once(string(*n)))
	}
}

// allOf returns all projects that count at some instant.
func allOf(scopes []map[string]bool, least string) []string {
	all := map[string]bool{least: true}
	for _, at := range scopes {
		for oid := range at {
			all[oid] = true
		}
	}
	list := make([]string, 0, len(all))
	for oid := range all {
		list = append(list, oid)
	}
	slices.Sort(list)
	return list
}

// asOf writes an instant for a query.
func asOf(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// rowsAt runs a query as of each instant. The end of the page shows the first of them.
func rowsAt(v *ui.Visit, instants []time.Time, of func(i int) ui.Query) ([][]ui.Reference, error) {
	queries, rows, into := make([]ui.Query, len(instants)), make([][]ui.Reference, len(instants)), make([]any, len(instants))
	for i, at := range instants {
		queries[i], into[i] = of(i), &rows[i]
		queries[i]["asof"] = asOf(at)
	}
	quiet := v.Quiet()
	err := quiet.Find(queries, into...)
	if body, err := json.Marshal(queries[:1]); err == nil {
		v.API.Note("POST", "query.v1", body)
	}
	return rows, err
}

// scopesAt reads which projects counted at each instant: the project and, where the
// view includes them, those below it then.
func scopesAt(v *ui.Visit, p *project, instants []time.Time) ([]map[string]bool, error) {
	rows, err := rowsAt(v, instants, func(int) ui.Query {
		if p.Below {
			return ui.Query{"from": "Scope", "where": map[string]string{"ParentMeAndUp": p.Oid}}
		}
		return ui.Query{"from": p.Oid}
	})
	scopes := make([]map[string]bool, len(rows))
	for i, list := range rows {
		scopes[i] = make(map[string]bool, len(list))
		for _, one := range list {
			oid, _ := cutMoment(one.Oid)
			scopes[i][oid] = true
		}
	}
	return scopes, err
}

// askWhoWasThere asks for assets as of instants, deleted ones too.
func askWhoWasThere(v *ui.Visit, assets []string, instants []time.Time) ([]bool, error) {
	rows, err := rowsAt(v, instants, func(i int) ui.Query {
		return ui.Query{"from": assets[i], "filter": []string{"AssetState>='0'"}}
	})
	there := make([]bool, len(rows))
	for i, list := range rows {
		there[i] = len(list) > 0
	}
	return there, err
}
