// Package value handles values by their kind: how text from a client is read, and how values
// are compared, stored and printed. One table (kind.go) has a line for each kind.
//
//	Parse(meta.Numeric, false, "3.50")                 3.5, true
//	Parse(meta.Date, true, "1/2/2026 3:04 PM")         the instant 2026-01-02, true
//	AppendRow(nil, Of(3.5), meta.Numeric, nil)         "3.5", in quotes
//	AppendData(nil, Of(3.5), meta.Numeric, nil)        3.5
//
// Writes, filters, variables and instants are read by the same functions, so a value can be
// found by the text with which it was written. Rows, the data path, events and templates are
// printed by the same functions.
//
// The package is pure. It does not resolve references such as an Oid or the name of a type,
// which needs the model.
//
// Spec: interface 2.2, 3.
package value
