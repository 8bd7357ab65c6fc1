package projects

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// pageSize is the number of rows on a page of a backlog.
const pageSize = 1000

// maxFilterChoices limits the sprints and the members in a select.
const maxFilterChoices = 200

// backlog is the data of the backlog page.
type backlog struct {
	*project
	Filter  filter
	Columns []column
	Items   []item
	From    int    // position of the first row, from 1
	More    bool   // there is a page after this one
	Epic    string // link that creates an epic
	Project string // link that creates a child project; empty: the reader may not create one
	Message string
	NewName string                                              // input of the form for a new item
	Given   struct{ Type, Place, Target, Estimate, Tag string } // input of a refused form
	Checked map[string]bool                                     // items that a refused form has selected
	Total   total
	Return  string // query string of the page, to which forms redirect
	choices
	mine
	Priorities, Projects []ui.Named // options of the toolbar
}

// Ranks reports whether the reader can rank rows of the table.
func (b *backlog) Ranks() bool { return b.Ranked() && b.Changes }

// Ranked reports whether the table is sorted by rank.
func (b *backlog) Ranked() bool { return b.Filter.Sort == "" }

// To returns the position of the last row.
func (b *backlog) To() int { return b.From + len(b.Items) - 1 }

// FirstPage returns the link to the first page of the table.
func (b *backlog) FirstPage() string { return b.Filter.with() }

// Page returns the link to another page, relative to this one.
func (b *backlog) Page(by int) string { return b.Filter.with("page", strconv.Itoa(b.Filter.Page+by)) }

// choices has the options in the form of a filter.
type choices struct {
	Statuses, People []ui.Named
	Sprints          []timebox
}

// column is a column of the table.
type column struct {
	Name, Key, Token string
	Number           bool   // right-aligned
	Down             bool   // sort in descending order at first
	Field            string // field that people change in the cells; empty: none
}

// columns are the columns of the table. A column without a key cannot be used for sorting.
var columns = []column{
	{Name: "Number", Key: "number", Token: "Number"},
	{Name: "Name", Key: "name", Token: "Name", Field: "name"},
	{Name: "Type", Key: "type", Token: "AssetType"},
	{Name: "Status", Key: "status", Token: "Status.Order", Field: "status"},
	{Name: "Owners", Field: "owner"},
	{Name: "Estimate", Key: "estimate", Token: "Estimate", Number: true, Down: true, Field: "estimate"},
	{Name: "To do", Key: "todo", Token: "AllocatedToDo", Number: true, Down: true},
	{Name: "Sprint", Key: "sprint", Token: "Timebox.EndDate", Field: "sprint"},
	{Name: "Priority", Key: "priority", Token: "Priority.Order", Down: true, Field: "priority"},
}

// Wide reports whether the rows are of several projects.
func (p *project) Wide() bool { return p.Below && p.Under() > 0 }

// columns returns the columns of the table of a project.
func (p *project) columns() []column {
	if p.Wide() {
		return append(slices.Clone(columns), column{Name: "Project"})
	}
	return columns
}

// rowColumns returns the attributes of the rows of the table.
func (p *project) rowColumns() []string {
	if p.Wide() {
		return append(slices.Clone(backlogColumns), "Scope.Name")
	}
	return backlogColumns
}

// showBacklog serves GET ui/project/<oid>.
func showBacklog(v *ui.Visit) error { return renderBacklog(v, "", "") }

// renderBacklog answers with the backlog. message is the refusal of a form, or "". name is the
// input of the form for a new item.
func renderBacklog(v *ui.Visit, message, name string) error {
	p, err := readProject(v, "")
	if err != nil {
		return err
	}
	f, err := readFilter(v)
	if err != nil {
		return err
	}
	page := &backlog{project: p, Filter: f, Columns: p.columns(), From: (f.Page-1)*pageSize + 1, Message: message, NewName: name, Return: v.Request.URL.RawQuery}
	page.keep(v)
	q := f.items(p)
	q["select"], q["page"] = p.rowColumns(), map[string]int{"size": pageSize + 1, "start": page.From - 1}
	if err := readRows(v, page, q); err != nil {
		return err
	}
	if page.More = len(page.Items) > pageSize; page.More {
		page.Items = page.Items[:pageSize]
	}
	if err := page.sum(v); err != nil {
		return err
	}
	v.Sends("api/asset?atomic=true", `{"from": "Story:<id>", "update": {"Order": {"Before": "Story:<other>"}}}`)
	v.Sends("api/asset?atomic=true", `{"AssetType": "Story", "Name": "…", "Scope": "`+p.Oid+`"}`)
	if page.Epic = makingEpic(v, p.Oid); p.May {
		page.Project = makingProject(v, p.Oid)
	}
	if v.IsPart() {
		return v.RenderPart("backlog", "items", page)
	}
	return v.Render("backlog", p.Name, page)
}

// readRows reads the items of a backlog and the rights of the reader. For a full page, it also
// reads the options of its forms.
func readRows(v *ui.Visit, page *backlog, q ui.Query) error {
	may, found := page.ask(page.project)
	queries, into := []ui.Query{q, may}, []any{&page.Items, found}
	if v.IsPart() {
		if err := v.API.Find(queries, into...); err != nil {
			return err
		}
		return page.decide(v)
	}
	page.offer(page.project, &queries, &into)
	page.offerValues(&queries, &into)
	made := []item{}
	if oid := v.Param("made"); isItem(oid) {
		queries, into = append(queries, ui.Query{"from": oid, "select": []string{"Number", "Name"}}), append(into, &made)
	}
	if err := v.API.Find(queries, into...); err != nil {
		return err
	}
	if len(made) == 1 {
		v.Say(v.Link("/assetdetail.v1", "oid", made[0].Oid), made[0].Number+" "+made[0].Name, "is added, as the last of all.")
	}
	return page.decide(v)
}

// keep keeps the input of a refused form.
func (b *backlog) keep(v *ui.Visit) {
	b.Given.Type, b.Given.Place, b.Given.Target, b.Given.Estimate, b.Given.Tag = v.Field("type"), v.Field("place"), v.Field("target"), v.Field("estimate"), v.Field("tag")
	if b.Message == "" {
		return
	}
	b.Checked = map[string]bool{}
	for _, item := range v.Request.PostForm["item"] {
		b.Checked[item] = true
	}
}

// offerValues appends the queries for the values that only the toolbar offers.
func (b *backlog) offerValues(queries *[]ui.Query, into *[]any) {
	some := map[string]int{"size": maxFilterChoices, "start": 0}
	*queries = append(*queries,
		ui.Query{"from": "WorkitemPriority", "select": []string{"Name"}, "filter": []string{"AssetState='Active'"}, "sort": []string{"Order"}, "page": some},
		ui.Query{"from": "Scope", "select": []string{"Name"}, "filter": []string{"AssetState='Active'"}, "sort": []string{"Name"}, "page": some})
	*into = append(*into, &b.Priorities, &b.Projects)
}

// OpenSprints returns the sprints that are not closed, the earliest first.
func (c choices) OpenSprints() []ui.Named {
	var open []ui.Named
	for _, s := range slices.Backward(c.Sprints) {
		if s.State != "Closed" {
			open = append(open, ui.Named{Oid: s.Oid, Name: s.Name})
		}
	}
	return open
}

// offer appends the queries for the options of forms.
func (c *choices) offer(p *project, queries *[]ui.Query, into *[]any) {
	some := map[string]int{"size": maxFilterChoices, "start": 0}
	*queries = append(*queries,
		ui.Query{"from": "StoryStatus", "select": []string{"Name"}, "filter": []string{"AssetState='Active'"}, "sort": []string{"Order"}, "page": some},
		ui.Query{"from": "Timebox", "select": []string{"Name", "AssetState"}, "filter": []string{scheduled}, "with": p.given(), "sort": []string{"IsClosed", "-EndDate"}, "page": some},
		ui.Query{"from": "Member", "select": []string{"Name"}, "filter": []string{"AssetState='Active'"}, "sort": []string{"Name"}, "page": some})
	*into = append(*into, &c.Statuses, &c.Sprints, &c.People)
}

// scheduled is the filter for sprints of the projects that the view includes.
const scheduled = "Schedule.ScheduledScopes=$Projects"

// filter is the filter and the sort order of a backlog.
type filter struct {
	Find, Type, Status, Owner, Sprint string
	Closed                            bool
	Sort                              string // key of a column, with - for the opposite direction; empty: by rank
	Page                              int    // from 1
	below                             string
}

// none is the value of a parameter that filters items without a value.
const none = "none"

// readFilter parses the filter of the URL. Errors: *ui.Error, 400 for an invalid value.
func readFilter(v *ui.Visit) (filter, error) {
	f := filter{
		Find: v.Param("find"), Type: v.Param("type"), Status: v.Param("status"), Owner: v.Param("owner"), Sprint: v.Param("sprint"),
		Closed: v.Param("closed") != "", Sort: v.Param("sort"), Page: 1, below: v.Param("below"),
	}
	switch {
	case f.Type != "" && !slices.Contains(itemTypes, f.Type):
		return f, unreadable("type", "Story, Defect or TestSet")
	case f.Status != "" && f.Status != none && !ui.IsOid(f.Status, "StoryStatus"):
		return f, unreadable("status", "a status such as StoryStatus:134, or none")
	case f.Sprint != "" && f.Sprint != none && !ui.IsOid(f.Sprint, "Timebox"):
		return f, unreadable("sprint", "a sprint such as Timebox:1234, or none")
	case f.Sort != "" && sortToken(f.Sort) == "":
		return f, unreadable("sort", "a column of the table, with - in front for the other direction")
	case len(f.Find) > maxFilterText || len(f.Owner) > maxFilterText:
		return f, unreadable("find and owner", "a short text")
	}
	if text := v.Param("page"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPages {
			return f, unreadable("page", "a number from 1 to "+strconv.Itoa(maxPages))
		}
		f.Page = n
	}
	return f, nil
}

const (
	maxFilterText = 200
	maxPages      = 100000
)

// unreadable returns the error for a parameter of the URL.
func unreadable(name, wanted string) error {
	return &ui.Error{Status: http.StatusBadRequest, Message: "The parameter " + name + " of the address must be " + wanted + "."}
}

// sortToken returns the sort term for the key of a column, or "".
func sortToken(key string) string {
	sign := "+"
	if rest, ok := strings.CutPrefix(key, "-"); ok {
		key, sign = rest, "-"
	}
	for _, c := range columns {
		if c.Key == key && key != "" {
			return sign + c.Token
		}
	}
	return ""
}

// items returns the query for the items of a project that match the filter.
func (f filter) items(p *project) ui.Query {
	from, conditions := f.matching()
	q, with := ui.Query{"from": from, "sort": []string{"Order"}}, p.given("$Dead", "Dead")
	if token := sortToken(f.Sort); token != "" {
		q["sort"] = []string{token, "Order"}
	}
	if f.Owner != "" && f.Owner != none {
		with["$Owner"] = []string{f.Owner}
	}
	if f.Find != "" {
		q["find"], q["findin"] = f.Find, []string{"Name", "Number", "Reference"}
	}
	q["filter"], q["with"] = append([]string{within}, conditions...), with
	return q
}

// matching returns the type of the items that match the filter, and the conditions besides the text.
func (f filter) matching() (from string, conditions []string) {
	conditions = []string{"AssetState='Active'"}
	if f.Closed {
		conditions[0] = "AssetState='Active','Closed'"
	}
	conditions = append(conditions, isOrNone("Status", f.Status)...)
	conditions = append(conditions, isOrNone("Timebox", f.Sprint)...)
	switch f.Owner {
	case "":
	case none:
		conditions = append(conditions, "Owners=''")
	default:
		conditions = append(conditions, "(Owners.Name~=$Owner|Owners.Nickname~=$Owner)")
	}
	return cmp.Or(f.Type, "PrimaryWorkitem"), conditions
}

// isOrNone returns the filter for items whose relation has the value oid. If oid is none, it is the
// filter for items without a value. If oid is empty, there is no filter.
func isOrNone(relation, oid string) []string {
	switch oid {
	case "":
		return nil
	case none:
		return []string{relation + "=''"}
	}
	return []string{relation + "='" + oid + "'"}
}

// Active reports whether the filter has any condition. The sort order is not a condition.
func (f filter) Active() bool {
	return f.Find+f.Type+f.Status+f.Owner+f.Sprint != "" || f.Closed
}

// with returns a query string with the filter, changed by pairs of name and value. It starts
// at the first page unless a pair has the page.
func (f filter) with(pairs ...string) string {
	values := url.Values{}
	closed := ""
	if f.Closed {
		closed = "1"
	}
	all := []string{"find", f.Find, "type", f.Type, "status", f.Status, "owner", f.Owner, "sprint", f.Sprint, "closed", closed, "sort", f.Sort, "below", f.below}
	all = append(all, pairs...)
	for i := 0; i+1 < len(all); i += 2 {
		if values.Del(all[i]); all[i+1] != "" {
			values.Set(all[i], all[i+1])
		}
	}
	return "?" + values.Encode()
}

// By returns the link that sorts the table by a column. If it is already sorted by this
// column, the link reverses the direction.
func (f filter) By(c column) string {
	first, other := c.Key, "-"+c.Key
	if c.Down {
		first, other = other, first
	}
	if f.Sort == first {
		return f.with("sort", other)
	}
	return f.with("sort", first)
}

// ByRank returns the link that sorts the table by rank.
func (f filter) ByRank() string { return f.with("sort", "") }

// Direction returns the aria-sort of a column, or "" if the table is not sorted by it.
func (f filter) Direction(c column) string {
	switch {
	case c.Key == "" || strings.TrimPrefix(f.Sort, "-") != c.Key:
		return ""
	case strings.HasPrefix(f.Sort, "-"):
		return "descending"
	}
	return "ascending"
}
