// Package check reads a whole database and reports inconsistencies: of its schema, of
// versions, links, values, the project tree, memberships, counters, audits and logins. It
// trusts only the model and the migrations. What can be derived from other rows it mends.
//
//	findings, err := check.Run(ctx, d, model)
//	left, err := check.Repair{Guard: …, Record: …, Mended: …}.Do(ctx, d, readModel)
//
// Everything is read in one snapshot, row after row, so a running service does
// not disturb it. Only the project tree and the inner nodes of the other trees
// are held in memory. Each check is a function of its own; rules lists them, in the order
// in which one builds on another, with what to do about a finding.
//
// A finding holds the statements that mend it, where there are any: what is shown is what
// is run. A repair finds a batch again, mends it in one transaction, and goes on until the
// check is quiet; what it cannot mend it leaves, and ends where that is something others
// are derived from. It takes no locks of the write engine: nothing else may write.
//
// Run never writes, and nothing here shares code with the write engine: the rules are
// written a second time on purpose.
package check
