package query

import "github.com/alds-dev/alds/internal/base/document"

// Request is one query as the client wrote it. Its form has been checked; its names and values have
// not.
//
// Example of the JSON document:
//
//	{"from": "Story", "select": ["Name", {"from": "Children:Task", "select": ["Name"]}],
//	 "where": {"Scope": "Scope:0"}, "filter": ["Estimate>'3'"], "sort": ["-Order"]}
//
// Spec: interface 4.3.
type Request struct {
	From   Text                // type name or Oid token; in a nested select a relation token
	Select []Item              // in the order of the answer
	Basic  bool                // true: the client selected nothing and gets the default attributes of the type
	Where  []Pair              // each attribute must equal its value; all must hold
	Filter []Text              // filters; all must hold
	With   map[string][]string // by name of a variable: its values; the name may begin with "$"
	Sort   []Text              // each is one sort term, or several separated by commas
	Find   string
	FindIn []Text // attributes to search; empty: Name, Description and Number
	Page   *Page  // nil: all rows
	AsOf   Text   // an instant, or AllVersions; empty: now
	// Group lists the relations by which the rows are grouped, outermost first. In each entry, From
	// is the relation, and Select has the attributes of the related assets. In the answer, the rows
	// are nested in these assets.
	Group []Request

	// Alias returns the Oid token of an alias such as "@story". The token is empty if the alias has
	// no asset. Alias is nil if the request has no aliases. The caller has already replaced an
	// alias in From.
	Alias func(name string) (oid string)

	// Among restricts the rows to assets with these stored ids; nil: all assets. A client cannot
	// send these ids, so they do not count toward the limits of a query.
	Among []int64

	Total   bool // true: also return the number of rows on all pages
	Explain bool // true: also return the database's execution plan

	One     bool // true: From is one asset, addressed by its URL path; if it is missing, the error is fault.NotFound
	History bool // true: each row is one version of an asset
	Plain   bool // true (rest-1 only): the URL path names one attribute, and no other attribute is added to it
	// Momented is true if the URL path of a rest-1 request has a moment. References in the answer
	// then include the moment of the related version.
	Momented bool
	Rest     bool // true: a request to rest-1.v1/Data; adds R.Name for each relation R; messages name URL parameters
}

// AllVersions is the value of AsOf that requests one row for each version of an asset.
const AllVersions = "All"

// Text is a piece of the client's text and its place in the input.
type Text struct {
	Text    string
	At      int               // byte offset, or fault.NoPlace
	Written *document.Written // how the input spells Text; nil if the spelling is the same
}

// Item is one entry of the key select: a token or a nested select.
type Item struct {
	Text
	Sub *Request
}

// Pair is one entry of the key where: an attribute and the value that it must equal.
type Pair struct {
	Token Text
	Value Text // without quotes; empty for null
}

// Page is the requested part of a result.
// Units: Start counts rows from zero; Size is a number of rows.
type Page struct {
	Start, Size int64
	After       *Text // the cursor of the previous page, empty for the first page; nil: the client uses no cursors
}
