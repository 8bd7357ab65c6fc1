// Package processes records which processes run. Each process writes a row of the table
// process when it starts and every ten seconds. It deletes the row when it stops normally.
//
//	slowest := processes.NewSlowest(nil)
//	p := processes.New(d, processes.Self{Role: "api", …}, slowest, processes.Options{Log: log})
//	p.Run(ctx)
//	all, err := processes.List(ctx, q, d.Dialect)
//
// All times are by the database's clock. After a process was killed, its row counts as alive for a
// minute and is deleted after an hour. If the database is not available, processes continue, and
// write their rows again when the database is back.
//
// For its metrics each process counts the running processes of each role, so that a role
// without processes is noticed.
//
// The row also has the process's slowest queries (Slowest), without their values, so that every
// process can report the slowest queries of all processes.
//
// Spec: docs/interface.md, section 4.16.
package processes
