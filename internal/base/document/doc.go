// Package document parses the JSON, YAML or XML text of a request into an ordered tree. Its nodes
// have their positions in the text.
//
//	{"from": "Story", "page": {"size": 10}}
//
// becomes a Map with Keys from, page and Items String "Story", Map. Numbers stay text, so that
// they lose no digits. In YAML a plain scalar that is a JSON number literal is a Number.
// Everything that YAML would read as another number, date or binary (012, 1_000, .inf,
// 2026-01-01) is a String, unchanged.
//
// XML has its own tree (ParseXML), since its elements and texts are not such values.
//
// The cost of a hostile text is bounded: depth, nodes, bytes of YAML, and the values of
// aliases. XML has only its built-in entities. The package never panics and never drops a key:
// a repeated key is refused.
package document
