// Package processes keeps which processes run: each writes a row of the table process
// when it starts and every ten seconds, and deletes it when it stops in order.
//
//	p := processes.New(d, processes.Self{Role: "api", …}, processes.NewSlowest(nil), processes.Options{Log: log})
//	p.Run(ctx)
//	all, err := processes.List(ctx, q, d.Dialect)
//
// All times are of the database's clock. A process that was killed is seen no more: its
// row counts as alive for a minute and is deleted after an hour. A database that is away
// stops nobody; the next row is written when it is back.
//
// Each process counts those that run of each role for its metrics, so that a role nobody
// runs is seen by the others.
//
// With its row a process tells its slowest queries (Slowest), without their values, so
// that each process can answer for all.
//
// Spec: interface 4.16.
package processes
