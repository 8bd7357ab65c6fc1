package projects

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/web/chart"
	"github.com/alds-dev/alds/internal/web/ui"
)

// The numbers of a day are those of a query as of the end of the day. For ten thousand items, one
// query for each day would take a second. So all versions are read once, and each version counts
// for the days at whose end it was in effect.

// itemVersion is a version of a workitem.
type itemVersion struct {
	Oid      string `json:"_oid"` // Oid with the moment
	State    string `json:"AssetState"`
	Scope    ui.Reference
	Status   ui.Reference
	Estimate json.Number
	Own      json.Number `json:"PrimaryWorkitem.Estimate"` // Estimate of backlog items only
	ToDo     json.Number
	From     time.Time `json:"ChangeDateUTC"`
	To       time.Time `json:"RetireDateUTC"` // start of the next version, even a hidden one; zero: none
}

// versionColumns are selected for all versions.
var versionColumns = []string{"Scope", "AssetState", "ChangeDateUTC", "RetireDateUTC"}

// maxVersions limits the versions for one page of drawings.
const maxVersions = 150000

// dead reports whether the state of the version excludes it from all numbers.
func (v *itemVersion) dead() bool {
	return v.State == "Deleted" || v.State == "Template" || v.State == "Broken Down"
}

// amount parses a number; a missing number is 0. The result is bounded, so that sums over
// maxVersions do not overflow.
func amount(n json.Number) float64 {
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return 0
	}
	return chart.Bounded(f)
}

// inEffect returns the range of instants at which a version was in effect: from is the first
// index, to is the index after the last. Instants must ascend.
func (v *itemVersion) inEffect(instants []time.Time) (from, to int) {
	from, _ = slices.BinarySearchFunc(instants, v.From, time.Time.Compare)
	if v.To.IsZero() {
		return from, len(instants)
	}
	to, _ = slices.BinarySearchFunc(instants, v.To, time.Time.Compare)
	return from, max(from, to)
}

// replay calls count for each version and each instant at which it was in effect. It skips
// dead versions and projects that did not count at that instant.
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

// starts corrects the start of first versions. An importer can set the date of an asset's first
// version to a time before the version was written. But a query as of a time before the write does
// not find the version. First versions were written in the order of their moments. Spec: interface
// 4.3.10.
type starts struct {
	moments []int64         // for each instant: highest moment of the first versions that already existed
	unsure  map[string]bool // key: Oid of a first version, whose date an importer may have set; value: true
}

// first returns the index of the first instant at which a query finds the version. It looks at the
// instants whose index is at least from and less than to. If a query finds the version at none of
// them, the result is to.
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

// unsure returns the versions that follow no other version in the list, in the order of their
// moments. Only such a version can have a date that an importer has set.
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

// wasThere reports, for each asset and the instant with the same index, whether a query as of
// the instant finds the asset.
type wasThere func(assets []string, instants []time.Time) ([]bool, error)

// begin finds out which first versions already existed at each instant. An imported date is never
// later than the write. So a query as of one instant finds, in the order of moments, all versions
// up to some version and none after it. Usually the query finds even the last version, so begin
// asks for the last version first.
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

// search is a search for the newest of the first versions that already existed at an instant.
type search struct {
	instant  time.Time
	place    int
	last     *itemVersion   // last version that may have existed at the instant
	among    []*itemVersion // versions that may have existed at the instant; nil until the first answer is no
	low, top int            // versions before low existed at the instant, versions from top on did not
	next     int            // index in among of the version to ask for next; -1: ask for last
}

// search asks for all instants in one request per round, and halves the remaining versions of
// each instant.
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

// narrow applies an answer and reports whether another question is needed.
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

// found returns the moment of the last version that existed at the instant, or -1.
func (o *search) found() int64 {
	if o.low == 0 {
		return -1
	}
	return momentOf(o.among[o.low-1].Oid)
}

// history has the versions of a project and the instants that are drawn.
type history struct {
	versions []itemVersion
	instants []time.Time
	scopes   []map[string]bool // for each instant: the projects that count
	began    starts
}

// replay calls count for each version and each instant at which it was in effect.
func (h *history) replay(count func(i int, v *itemVersion)) {
	replay(h.versions, h.instants, h.scopes, h.began, count)
}

// tooMany returns the error for too many versions.
func tooMany() error {
	return &ui.Error{Status: 400, Message: "More than " + strconv.Itoa(maxVersions) + " versions of items are needed for this. Select fewer days, or a project without its child projects."}
}

// readHistory reads the versions that were in effect in a project between the first and the
// last instant. q selects the type, the attributes and further conditions. Errors: *ui.Error.
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

// versionPage is the number of versions in one answer. A page can only read answers of a few
// megabytes.
const versionPage = 25000

// readVersions reads all versions that a query finds, page by page. Errors: *ui.Error.
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

// texts stores each distinct text once, so that equal texts share memory.
type texts map[string]string

func (t texts) once(text string) string {
	if same, ok := t[text]; ok {
		return same
	}
	t[text] = text
	return text
}

// keep replaces the texts of a version by shared copies to save memory.
func (v *itemVersion) keep(known texts) {
	v.State, v.Scope.Oid, v.Status.Oid = known.once(v.State), known.once(v.Scope.Oid), known.once(v.Status.Oid)
	for _, n := range []*json.Number{&v.Estimate, &v.Own, &v.ToDo} {
		*n = json.Number(known.once(string(*n)))
	}
}

// allOf returns all projects that count at one or more instants. The project least is always in the
// result.
func allOf(scopes []map[string]bool, least string) []string {
	all := map[string]bool{least: true}
	for _, at := range scopes {
		maps.Copy(all, at)
	}
	return slices.Sorted(maps.Keys(all))
}

// asOf formats an instant for a query.
func asOf(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// rowsAt runs one query per instant. The footer of the page shows only the first query.
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

// scopesAt reads which projects count at each instant: the project, and its descendants at
// that instant if the view includes them.
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

// askWhoWasThere is a wasThere that asks the interface. It also finds deleted assets.
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
