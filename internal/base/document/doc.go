// Package document parses the JSON, YAML or XML text of a request into an ordered tree. Its nodes
// have their positions in the text.
//
//	{"from": "Story", "page": {"size": 10}}
//
// becomes a Map. Its Keys are from and page, and its Items are the String "Story" and another
// Map. Numbers stay text, so that they lose no digits. In YAML a plain scalar that is a JSON
// number literal is a Number. Everything that YAML would read as another number, date or binary
// (012, 1_000, .inf, 2026-01-01) is a String, unchanged.
//
// XML has a separate tree (ParseXML), since an element is none of these values.
//
// The cost of a hostile text is bounded, because its depth, its nodes, the bytes of YAML and the
// values of aliases have limits. XML has only its built-in entities. The package never panics. It
// never drops a key, since it refuses a repeated key.
package document
