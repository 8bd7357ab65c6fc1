// Package value reads what clients write as values of an attribute's kind. A
// write, a filter, a variable and an instant are read by the same functions, so
// that what can be written can be found by the same spelling:
//
//	Parse(meta.Numeric, false, "3.50")                 3.5, true
//	Parse(meta.Date, true, "1/2/2026 3:04 PM")         the instant 2026-01-02, true
//	Parse(meta.Duration, false, "2 weeks")             nil, false
//
// It is pure, and knows neither what a value stands for (an Oid, the name of a
// type) nor where it is kept; those who resolve such names read them themselves.
//
// Spec: interface 2.2, 3; domain facts about attribute types and accepted dates.
package value
