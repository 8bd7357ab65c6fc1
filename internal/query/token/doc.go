// Package token reads and prints the small language of attribute tokens and filters. It handles
// syntax only; package query checks whether a name exists.
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
// AND (";", "&") binds tighter than OR ("|"). "#" reads the related asset in its current state. "$"
// alone is the asset of the row, also inside brackets: in a query for stories, "$" in
// Owners.OwnedWorkitems[Children=$] is the story. In a filter, "+" and "-" test whether a value
// exists or not. White space is allowed around operators, never inside a path.
//
// Parse returns a plain value without references to the model. Its printed form parses to an equal
// value. Every part has its byte offset in the text.
//
// Spec: interface 2.3; existing clients' grammar of tokens and filters.
package token
