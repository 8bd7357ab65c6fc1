package query

import "github.com/alds-dev/alds/internal/doc"

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
	With   map[string][]string // values of variables; the name may begin with its $
	Sort   []Text              // one term each, or several separated by commas
	Find   string
	FindIn []Text    // attributes searched; empty: Name, Description and Number
	Page   *Page     // nil: everything
	AsOf   Text      // an instant, or AllVersions; empty: now
	Group  []Request // From is a relation, Select what is shown of its assets; the rows stand below

	// Alias returns the Oid token of an alias such as "@story", empty for one of no
	// asset. nil: there are no aliases. In From they are replaced already.
	Alias func(name string) (oid string)

	Total   bool // with the number of rows, whatever the page
	Explain bool // with the database's execution plan

	One      bool // From names one asset by its path: missing is NotFound
	History  bool // rows are versions
	Plain    bool // rest-1: one attribute is addressed, nothing is added to it
	Momented bool // rest-1: rows are read in their past, and references name the versions of then
	Rest     bool // the rest-1 form: R.Name is added to relations, messages say which parameter
}

// AllVersions as AsOf asks for a row for each version.
const AllVersions = "All"

// Text is a piece of the client's text and its place in the input.
type Text struct {
	Text    string
	At      int          // byte offset, fault.NoPlace when none applies
	Written *doc.Written // how the input has it, nil where byte for byte the same
}

// Item is one entry of select: a token, or a nested select.
type Item struct {
	Text
	Sub *Request
}

// Pair is one entry of where.
type Pair struct {
	Token Text
	Value Text // without quotes; empty for null
}

// Page is the part of a result that is wanted.
// Units: Start counts rows from zero; Size is a number of rows.
type Page struct {
	Start, Size int64
	After       *Text // the cursor of the page before, empty for the first; nil when cursors are not asked for
}
