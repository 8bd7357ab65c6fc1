// Package event makes events from changes. It matches changes with event definitions, evaluates
// filters and snapshots as of the moment of the change, and prints the events.
//
//	versions --Match--> Events with their matching Rules --Printer, Text--> JSON
//
// A Rule is one event definition of a Target. The Target is the receiver of the events. Rules with
// the same filter or the same selection share a predicate, which is evaluated once per event.
// Package memfilter evaluates it in memory if it can. Otherwise SQL evaluates it.
//
// An Engine belongs to one model. An Index uses the model of its Engine for definitions,
// differences and values.
//
// The package neither stores events nor sends them.
//
// Spec: interface 6.1, 6.2.2 to 6.2.4.
package event
