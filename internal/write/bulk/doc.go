// Package bulk is the bulk command language: a document of commands in, an
// exact account of what was done out.
//
// Words: a command is one object of the document; a step is what projection
// makes of it, one per asset. Projection gives aliases to creates that have
// none, places nested creates after their parent (with "#ContextOid"), and
// resolves updates and operations without an alias to one step per matching
// asset. The executor executes the steps strictly in order; steps without a query
// between them go to the write engine as one batch.
//
//	[{"AssetType": "Epic", "Name": "E", "Scope": "Scope:0", "Subs": [{"AssetType": "Story", "Name": "S"}]}]
//
// becomes
//
//	@<guid>$auto-aliased  {"AssetType": "Epic", "Name": "E", "Scope": "Scope:0"}
//	@<guid>$auto-aliased  {"AssetType": "Story", "#ContextOid": "@<guid>$auto-aliased", "Name": "S"}
//
// A failing command is listed with its message and never fails another one
// that does not depend on it. Nothing here knows tables, rules or HTTP.
//
// Spec: interface 2.5, 4.3, 7.2.
package bulk
