// Package rest is the writing half of the data interface: attribute documents
// of one asset in, the asset as it is afterwards out.
//
//	POST Data/Story       {"Attributes": {"Name": {"value": "x", "act": "set"}, "Scope": {"value": "Scope:0"}}}
//	POST Data/Story/1001  {"Attributes": {"Owners": {"value": [{"idref": "Member:20", "act": "add"}]}}}
//	POST Data/Story/1001?op=Copy
//	GET  New/Story?ctx=Scope:0
//
// It reads the spellings that existing clients send and hands one command to
// the write engine. Reading by path is not its business, nor is HTTP.
//
// Spec: interface 4.1.
package rest
