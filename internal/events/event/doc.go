// Package event creates events from changes. It matches changes with event definitions. For this it
// evaluates filters with the data at the moment of the change. It also reads snapshots of that
// moment, and prints the events.
//
//	versions --Match--> Events with their matching Rules --Printer, Text--> JSON
//
// A Rule is one event definition of a Target, the receiver of the events. If rules have the same
// filter or the same selection, they share a predicate, which is evaluated once per event. Package
// memfilter evaluates the predicate in memory if that is possible. Otherwise SQL evaluates it.
//
// An Engine belongs to one model of assets. An Index uses the model of its Engine for definitions,
// differences and values.
//
// The package does not store or send events.
//
// Spec: interface 6.1, 6.2.2 to 6.2.4.
package event
