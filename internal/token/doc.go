// Package token reads and prints the small language of attribute tokens and
// filters. It knows syntax only: whether a name exists is the business of
// package query.
//
//	path   = part { "." part } [ ".@" NAME ]
//	part   = NAME [ "#" ] [ ":" NAME ] [ "[" filter "]" ]
//	list   = [ path { "," path } ]
//	sort   = term { "," term }            term = [ "+" | "-" ] path
//	filter = all { "|" all }
//	all    = simple { ( ";" | "&" ) simple }
//	simple = "(" filter ")" | ( "+" | "-" ) path | path [ cmp values ]
//	cmp    = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~="
//	values = quoted { "," quoted } | "$" NAME | "$" | "true" | "false"
//	quoted = "'" text "'" | '"' text '"'  both quote characters doubled inside
//	NAME   = one or more of A-Z a-z 0-9 _
//
// AND binds tighter than OR. "#" reads the related asset as it is now, "$" alone
// is the asset around the brackets, "+" and "-" say that a value exists or not.
// White space may stand around operators, never inside a path.
//
// What Parse returns is a value: it holds no reference to the model, and the
// printed form parses to the same tree. Every part knows its byte offset.
//
// Spec: interface 2.3; existing clients' grammar of tokens and filters.
package token
