package home

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// maxFound limits the results of a search, and maxSearch the characters that are searched for. Of the words of
// a text, only the first maxWords count.
const (
	maxFound  = 20
	maxOthers = 6 // projects, sprints and the like among the results
	maxPeople = 4
	maxSearch = 200
	maxWords  = 8
)

// hit is an asset that a search has found.
type hit struct {
	Oid    string `json:"_oid"`
	Number string
	Name   string
	Type   string `json:"AssetType"`
	State  string `json:"AssetState"`
	Scope  string `json:"Scope.Name"`
}

// Closed reports whether the asset is closed.
func (h hit) Closed() bool { return h.State == "Closed" }

// Path returns the path of the page of the asset, below the base. A member leads to the open items that the
// member owns.
func (h hit) Path() string {
	switch h.Type {
	case "Scope":
		return "/ui/project/" + h.Oid
	case "Member":
		return ui.Link("", "/ui/open", "owner", h.Oid)
	}
	return ui.Link("", "/assetdetail.v1", "oid", h.Oid)
}

// kind is a group of results.
type kind struct {
	Title string
	Types []string
	Hits  []hit
}

// kinds are the groups of results in their order.
func kinds() []kind {
	return []kind{
		{Title: "Backlog items", Types: []string{"Story", "Defect", "TestSet"}},
		{Title: "Epics and themes", Types: []string{"Epic", "Theme"}},
		{Title: "Tasks and tests", Types: []string{"Task", "Test"}},
		{Title: "Issues, requests and goals", Types: []string{"Issue", "Request", "Goal"}},
		{Title: "Projects", Types: []string{"Scope"}},
		{Title: "Sprints and teams", Types: []string{"Timebox", "Team"}},
		{Title: "People", Types: []string{"Member"}},
	}
}

// Types that a search by words finds, besides members.
var (
	itemTypes  = []string{"Story", "Defect", "TestSet", "Epic", "Theme", "Task", "Test"}
	otherTypes = []string{"Scope", "Timebox", "Team", "Issue", "Request", "Goal"}
)

// results is the data of the page.
type results struct {
	Text     string
	ByNumber []hit
	Kinds    []kind
	More     bool // there are more items
}

// Found reports whether anything was found.
func (r *results) Found() bool { return len(r.ByNumber)+len(r.Kinds) > 0 }

// search serves GET ui/search?q=<text>: assets by number, items and projects by words of their names, and members
// by name. A text that is the number of one asset leads to its page.
func search(v *ui.Visit) error {
	page := results{Text: v.Param("q")}
	if len([]rune(page.Text)) > maxSearch {
		return &ui.Error{Status: http.StatusBadRequest, Message: "Search for at most 200 characters."}
	}
	if page.Text != "" {
		if err := page.read(v); err != nil {
			return err
		}
	}
	if v.IsPart() {
		return v.RenderPart("search", "hits", &page)
	}
	if len(page.ByNumber) == 1 {
		return v.Redirect("/assetdetail.v1?oid=" + url.QueryEscape(page.ByNumber[0].Oid))
	}
	return v.Render("search", "Search", &page)
}

// read finds what fits the text, in one request.
func (r *results) read(v *ui.Visit) error {
	queries := searchQueries(r.Text)
	lists := make([][]hit, len(queries))
	into := make([]any, len(queries))
	for i := range lists {
		into[i] = &lists[i]
	}
	if err := v.API.Find(queries, into...); err != nil {
		return err
	}
	if asNumber(r.Text) != nil {
		r.ByNumber, lists = lists[0], lists[1:]
	}
	if len(lists) == 3 {
		r.group(lists[0], lists[1], lists[2])
	}
	return nil
}

// group puts items, other assets and members into groups. It keeps at most maxFound results.
func (r *results) group(items, others, people []hit) {
	found := slices.DeleteFunc(slices.Concat(others, people), r.isByNumber)
	items = slices.DeleteFunc(items, r.isByNumber)
	room := max(0, maxFound-len(r.ByNumber)-len(found))
	r.More = len(items) > room
	found = append(items[:min(room, len(items))], found...)
	for _, k := range kinds() {
		for _, h := range found {
			if slices.Contains(k.Types, h.Type) {
				k.Hits = append(k.Hits, h)
			}
		}
		if len(k.Hits) > 0 {
			r.Kinds = append(r.Kinds, k)
		}
	}
}

// isByNumber reports whether an asset was found by its number.
func (r *results) isByNumber(h hit) bool {
	return slices.ContainsFunc(r.ByNumber, func(other hit) bool { return other.Oid == h.Oid })
}

// searchQueries returns the queries for a text: first one for assets by their numbers if the text may be a number;
// then, unless the text can only be a number, those for items, for other assets and for members whose names have
// all words of the text. Open assets come first.
func searchQueries(text string) (all []ui.Query) {
	columns := []string{"Number", "Name", "AssetType", "AssetState", "Scope.Name"}
	if numbers := asNumber(text); numbers != nil {
		all = append(all, ui.Query{
			"from": "BaseAsset", "select": columns, "filter": []string{"Number=$Numbers", "AssetState!=$Dead"},
			"with": map[string]any{"$Numbers": numbers, "$Dead": []string{"Dead"}}, "sort": []string{"AssetState", "ID"}, "page": first(maxFound),
		})
		if strings.Contains(text, "-") {
			return all
		}
	}
	words := strings.Fields(text)
	words = words[:min(len(words), maxWords)]
	with := func(pairs ...any) map[string]any {
		given := map[string]any{"$Dead": []string{"Dead"}}
		for i, w := range words {
			given["$W"+strconv.Itoa(i)] = []string{pattern(w)}
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			given[pairs[i].(string)] = pairs[i+1]
		}
		return given
	}
	named := func(attributes ...string) []string {
		filters := []string{"AssetState!=$Dead"}
		for i := range words {
			any := make([]string, len(attributes))
			for k, a := range attributes {
				any[k] = a + "~=$W" + strconv.Itoa(i)
			}
			filters = append(filters, strings.Join(any, "|"))
		}
		return filters
	}
	latest := []string{"AssetState", "-ChangeDateUTC"}
	return append(all,
		ui.Query{"from": "Workitem", "select": columns, "filter": append(named("Name"), "AssetType=$Types"), "with": with("$Types", itemTypes), "sort": latest, "page": first(maxFound + 1)},
		ui.Query{"from": "BaseAsset", "select": columns, "filter": append(named("Name"), "AssetType=$Types"), "with": with("$Types", otherTypes), "sort": latest, "page": first(maxOthers)},
		ui.Query{"from": "Member", "select": []string{"Name", "AssetType", "AssetState"}, "filter": named("Name", "Nickname", "Username"), "with": with(), "sort": []string{"AssetState", "Name"}, "page": first(maxPeople)},
	)
}

// first returns the first page of a query with this size.
func first(size int) map[string]int { return map[string]int{"size": size, "start": 0} }

// pattern returns a word as the comparison ~= takes it: a word with % or * must match the whole text.
func pattern(word string) string {
	if strings.ContainsAny(word, "%*") {
		return "*" + word + "*"
	}
	return word
}

// numbers matches the number of an asset, with or without its prefix.
var numbers = regexp.MustCompile(`^(?:([A-Za-z]{1,3})-)?(\d{1,9})$`)

// prefixes are those of assets that people name by their numbers.
var prefixes = []string{"S", "D", "E", "TK", "AT", "TS", "TH", "I", "R", "G"}

// asNumber returns the numbers of assets that a text may mean, or nil if it is no number: S-1001 and 1001 mean
// S-01001.
func asNumber(text string) []string {
	m := numbers.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return nil
	}
	with := prefixes
	if m[1] != "" {
		with = []string{strings.ToUpper(m[1])}
	}
	digits := strings.TrimLeft(m[2], "0")
	var all []string
	for _, p := range with {
		all = append(all, p+"-"+strings.Repeat("0", max(0, numberDigits-len(digits)))+digits)
	}
	return all
}

// numberDigits is the number of digits that a number has at least. Spec: interface 2.2.4.
const numberDigits = 5
