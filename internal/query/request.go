package query

import "github.com/alds-dev/alds/internal/base/document"

// Request is one query as the client wrote it. Only its form has been checked.
//
// Shape: the JSON document
//
//	{"from": "Story", "select": ["Name", {"from": "Children:Task", "select": ["Name"]}],
//	 "where": {"Scope": "Scope:0"}, "filter": ["Estimate>'3'"], "sort": ["-Order"]}
//
// Spec: interface 4.3.
type Request struct {
	From   Text                // type name or Oid token; in a nested select a relation token
	Select []Item              // in the order of the answer
	Basic  bool                // nothing was selected: the default attributes of the type
	Where  []Pair              // each an equality
	Filter []Text              // all must hold
	With   map[string][]string // values of variables; the name may begin with "$"
	Sort   []Text              // one term each, or several separated by commas
	Find   string
	FindIn []Text // attributes to search; empty: Name, Description and Number
	Page   *Page  // nil: everything
	AsOf   Text   // an instant, or AllVersions; empty: now
	// Group: From is a relation, Select the attributes of its assets. The rows of the query
	// are below these assets.
	Group []Request

	// Alias returns the Oid token of an alias such as "@story". The token is empty if the alias has
	// no asset. nil: the request has no aliases. The caller has already replaced aliases in From.
	Alias func(name string) (oid string)

	// Among restricts the rows to assets with these stored ids; nil: all. A client cannot send
	// it, so limits of a query do not count it.
	Among []int64

	Total   bool // also return the number of rows on all pages
	Explain bool // also return the database's execution plan

	One     bool // From names one asset by its path: a missing asset is NotFound
	History bool // rows are versions
	Plain   bool // rest-1: one attribute is addressed, nothing is added to it
	// Momented (rest-1): rows are read in the past, and references include the version.
	Momented bool
	Rest     bool // the rest-1 form: R.Name is added to relations, messages name the parameter
}

// AllVersions as AsOf requests one row for each version.
const AllVersions = "All"

// Text is a piece of the client's text and its place in the input.
type Text struct {
	Text    string
	At      int               // byte offset, or fault.NoPlace
	Written *document.Written // the text as written in the input; nil if it is the same
}

// Item is one entry of select: a token or a nested select.
type Item struct {
	Text
	Sub *Request
}

// Pair is one entry of where.
type Pair struct {
	Token Text
	Value Text // without quotes; empty for null
}

// Page is the requested part of a result.
// Units: Start counts rows from zero; Size is a number of rows.
type Page struct {
	Start, Size int64
	After       *Text // the cursor of the previous page, empty for the first; nil: no cursors
}
