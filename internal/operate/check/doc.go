// Package check reads a whole database and reports inconsistencies in the schema, versions,
// links, values, the project tree, memberships, counters, audits and logins. It assumes that
// only the model and the migrations are correct. A repair fixes rows that can be derived from
// other rows.
//
//	findings, err := check.Run(ctx, d, model)
//	left, err := check.Repair{Guard: …, Record: …, Mended: …}.Do(ctx, d, readModel)
//
// Run reads row by row in one snapshot, so a running service does not disturb it. It keeps only
// this data in memory: the project tree, the inner nodes of the other trees, and values that a
// check compares, such as Numbers and hashes of contents. Each check is a function. The variable
// rules lists all checks, each with a text that says what to do about its findings. A check comes
// after the checks that it depends on.
//
// If a finding can be fixed, it contains the statements that fix it. Plan shows the same statements
// that a repair runs. A repair finds a batch of findings and fixes the batch in one transaction. It
// repeats this until the check finds nothing more that can be fixed. The repair ends when findings
// are left in rows that other rows are derived from. It takes no locks of the write engine, so
// nothing else may write at the same time.
//
// Run never writes. This package shares no code with the write engine: it implements the
// rules independently, so that it also finds errors of the write engine.
package check
