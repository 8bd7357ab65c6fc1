// Package doc turns the JSON, YAML or XML text of a request into an ordered tree
// whose nodes know where in the text they stand.
//
//	{"from": "Story", "page": {"size": 10}}
//
// becomes a Map with Keys from, page and Items String "Story", Map. Numbers
// stay text, so that none loses digits. In YAML a plain scalar that is a JSON
// number literal is a Number; everything YAML would read as a number, date or
// binary in another way (012, 1_000, .inf, 2026-01-01) is a String as written.
//
// XML, whose elements and texts are no such values, becomes a tree of its own
// (ParseXML).
//
// The cost of a hostile text is bounded: depth, nodes, bytes of YAML, and what
// aliases may add; XML has no entities but its own. It never panics and never drops a key: one that comes twice
// is refused.
package doc
