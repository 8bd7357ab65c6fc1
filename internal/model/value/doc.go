// Package value handles values by their kind: how text from a client is read, and how values
// are compared, stored and printed. One table (kind.go) has a line for each kind.
//
//	Parse(meta.Numeric, false, "3.50")                 3.5, true
//	Parse(meta.Date, true, "1/2/2026 3:04 PM")         the instant 2026-01-02, true
//	AppendRow(nil, Of(3.5), meta.Numeric, nil)         "3.5", in quotes
//	AppendData(nil, Of(3.5), meta.Numeric, nil)        3.5
//
// The same functions read values in writes, in filters, in variables, and in points in time, such
// as the value of asof. So a value can be found by the text with which it was written. The same
// functions also print values in query rows, on the data path (docs/interface.md, section 4.1), in
// events and in templates.
//
// The package is pure. It does not resolve references such as an Oid or the name of a type,
// which needs the model.
//
// Spec: docs/interface.md, sections 2.2 and 3.
package value
