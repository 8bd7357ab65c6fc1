// Package rest writes the one asset that the path of a request names. The input is a document of
// attributes. The output is the asset after the write.
//
//	POST Data/Story       {"Attributes": {"Name": {"value": "x", "act": "set"}, "Scope": {"value": "Scope:0"}}}
//	POST Data/Story/1001  {"Attributes": {"Owners": {"value": [{"idref": "Member:20", "act": "add"}]}}}
//	POST Data/Story/1001  <Asset><Relation name="Owners"><Asset idref="Member:20" act="add"/></Relation></Asset>
//	POST Data/Story/1001?op=Copy
//	GET  New/Story?ctx=Scope:0
//
// The package decodes every form that existing clients send. Each write becomes one command of
// the write engine.
//
// Spec: interface 4.1.
package rest
