// Package event makes events of changes: it matches them with definitions,
// evaluates filters and snapshots as of the moment of the change, and prints the
// result.
//
//	versions --Match--> Events with the Rules they match --Printer, Text--> JSON
//
// A Rule is one event definition of a Target, who gets the events. Rules with the
// same filter or the same selection share a predicate, which is evaluated once per
// event: in memory where package memfilter can, else by SQL.
//
// An Engine belongs to one model: definitions, differences and values of an Index
// are read by the model that it was made of.
//
// The package knows neither who is told of an event nor how.
//
// Spec: interface 6.1, 6.2.2 to 6.2.4.
package event
