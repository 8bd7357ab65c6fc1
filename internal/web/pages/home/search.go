package home

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// maxFound limits the results of each kind, and maxSearch the characters that are searched for.
const (
	maxFound  = 20
	maxSearch = 200
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

// results is the data of the page.
type results struct {
	Text     string
	Items    []hit
	Projects []hit
	Members  []hit
	More     bool // there are more items
}

// Found reports whether anything was found.
func (r *results) Found() bool { return len(r.Items)+len(r.Projects)+len(r.Members) > 0 }

// search serves GET ui/search?q=<text>: items by number or words, projects and members by name. A text that is the
// number of one item leads to its page.
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
	if number := asNumber(page.Text); number != nil && len(page.Items) == 1 && len(page.Projects)+len(page.Members) == 0 {
		return v.Redirect("/assetdetail.v1?oid=" + url.QueryEscape(page.Items[0].Oid))
	}
	return v.Render("search", "Search", &page)
}

// read finds what fits the text. If the text is a number of an item, it reads only these items.
func (r *results) read(v *ui.Visit) error {
	columns := []string{"Number", "Name", "AssetType", "AssetState", "Scope.Name"}
	lists := make([][]hit, len(searched))
	var queries []ui.Query
	var into []any
	ask := func(q ui.Query, rows *[]hit) { queries, into = append(queries, q), append(into, rows) }
	numbers := asNumber(r.Text)
	words, values := wordsIn(r.Text)
	of := func(t string, columns ...string) ui.Query {
		return ui.Query{
			"from": t, "select": columns, "filter": append([]string{"AssetState!=$Dead"}, words...), "with": values,
			"sort": []string{"AssetState", "-ChangeDateUTC"}, "page": map[string]int{"size": maxFound + 1, "start": 0},
		}
	}
	for i, t := range searched {
		q := of(t, columns...)
		if numbers != nil {
			q["filter"], q["with"] = []string{"AssetState!=$Dead", "Number=$Numbers"}, map[string]any{"$Dead": "Dead", "$Numbers": numbers}
		}
		ask(q, &lists[i])
	}
	if numbers == nil {
		ask(of("Scope", "Name", "AssetType", "AssetState"), &r.Projects)
		ask(of("Member", "Name", "AssetType", "AssetState"), &r.Members)
	}
	if err := v.API.Find(queries, into...); err != nil {
		return err
	}
	r.Items = slices.Concat(lists...)
	slices.SortStableFunc(r.Items, func(a, b hit) int { return cmp.Compare(a.order(), b.order()) })
	r.More = len(r.Items) > maxFound
	r.Items = r.Items[:min(len(r.Items), maxFound)]
	r.Projects, r.Members = r.Projects[:min(len(r.Projects), maxFound)], r.Members[:min(len(r.Members), maxFound)]
	return nil
}

// maxWords limits the words that are searched for. Further words are ignored.
const maxWords = 8

// wordsIn returns filters for the names that contain all words of a text, in any order, and the values of their
// variables.
func wordsIn(text string) (filters []string, values map[string]any) {
	values = map[string]any{"$Dead": "Dead"}
	for i, word := range strings.Fields(text) {
		if i == maxWords {
			break
		}
		name := "$Word" + strconv.Itoa(i)
		filters, values[name] = append(filters, "Name~="+name), strings.NewReplacer("%", "", "*", "").Replace(word)
	}
	return filters, values
}

// searched are the types of the items that a search finds.
var searched = []string{"Workitem", "Issue", "Request"}

// order is 1 for closed assets, which come last.
func (h hit) order() int {
	if h.Closed() {
		return 1
	}
	return 0
}

// numbers matches the number of an item, with or without its prefix.
var numbers = regexp.MustCompile(`^(?:([A-Za-z]{1,3})-)?(\d{1,9})$`)

// prefixes are those of items that people name by their numbers.
var prefixes = []string{"S", "D", "E", "TK", "AT", "TS", "I", "R"}

// asNumber returns the numbers of items that a text may mean, or nil if it is no number: S-1001 and 1001 mean
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
	var all []string
	for _, p := range with {
		all = append(all, p+"-"+strings.Repeat("0", max(0, numberDigits-len(m[2])))+m[2])
	}
	return all
}

// numberDigits is the number of digits that a number has at least. Spec: interface 2.2.4.
const numberDigits = 5
