// Package check reads a whole database and reports inconsistencies: of versions,
// links, values, the project tree, memberships, counters and audits. It trusts
// only the model, and repairs nothing.
//
//	findings, err := check.Run(ctx, d, model)
//
// Everything is read in one snapshot, row after row, so a running service does
// not disturb it. Only the project tree and the inner nodes of the other trees
// are held in memory. Each check is a function of its own; checks lists them.
//
// It never writes, and shares no code with the write engine: the rules are written
// a second time on purpose.
package check
