// Package document parses the JSON, YAML or XML text of a request into an ordered tree. The nodes
// of the tree have their positions in the text.
//
//	{"from": "Story", "page": {"size": 10}}
//
// becomes a Map. Its Keys are from and page, and its Items are the String "Story" and another
// Map. Numbers stay text, so that they lose no digits. In YAML, an unquoted scalar is a Number if
// it has the form of a JSON number. Everything that YAML would read as another kind of number, a
// date or binary data (012, 1_000, .inf, 2026-01-01) is a String, unchanged.
//
// XML becomes a separate tree (ParseXML), because an element is not one of these values.
//
// A hostile text cannot use much time or memory: its depth, the number of its nodes, the bytes of
// YAML and the values of YAML aliases have limits. XML has only its built-in entities. The package
// never panics. It never drops a key, because it refuses a text with a repeated key.
package document
