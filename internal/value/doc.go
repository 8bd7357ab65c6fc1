// Package value is what is known of values by their kind: how a client's text
// is read, how values compare, how they lie in the database and how they are
// printed. One table (kind.go) holds a line for each kind.
//
//	Parse(meta.Numeric, false, "3.50")                 3.5, true
//	Parse(meta.Date, true, "1/2/2026 3:04 PM")         the instant 2026-01-02, true
//	AppendRow(nil, Of(3.5), meta.Numeric, nil)         "3.5", in quotes
//	AppendData(nil, Of(3.5), meta.Numeric, nil)        3.5
//
// Writes, filters, variables and instants are read by the same functions, so
// that what can be written can be found by the same spelling; rows, the data
// path, events and templates are printed by the same functions.
//
// The package is pure. It does not resolve what a value stands for, such as an
// Oid or the name of a type: that needs the model.
//
// Spec: interface 2.2, 3.
package value
