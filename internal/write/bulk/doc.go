// Package bulk executes the bulk command language. The input is a document of commands. The
// output is a list of everything that was done.
//
// A command is one object of the document. Projection turns each command into steps, one per
// asset. It generates an alias for each create that has none. A nested create becomes a step
// after its parent, with "#ContextOid". In a to-one relation, a nested create becomes a step
// before its parent. An update or an operation becomes one step per matching asset. If an update
// or operation names an alias, its assets are only found when it is executed.
//
// The executor executes the steps strictly in order. Steps without a query between them go to the
// write engine as one batch.
//
//	[{"AssetType": "Epic", "Name": "E", "Scope": "Scope:0", "Subs": [{"AssetType": "Story", "Name": "S"}]}]
//
// becomes
//
//	@<guid>$auto-aliased  {"AssetType": "Epic", "Name": "E", "Scope": "Scope:0"}
//	@<guid>$auto-aliased  {"AssetType": "Story", "#ContextOid": "@<guid>$auto-aliased", "Name": "S"}
//
// If a command fails, the answer lists it with its message. Other commands only fail if they
// depend on the failed command. The package does not depend on tables, on the rules of the write
// engine, or on HTTP.
//
// Spec: interface 2.5, 4.3, 7.2.
package bulk
