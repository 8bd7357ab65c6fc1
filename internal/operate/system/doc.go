// Package system shows administrators the state of the installation: the processes and their
// versions, the queued work, and the slow queries. It also checks the database on request,
// and changes settings at runtime.
//
//	status, err := s.Status(ctx, who)
//	state, err := s.Start(ctx, who) // starts a check, which s.Run runs
//	state, err := s.Check(ctx, who) // returns the state of the last check of any process
//	settings, err := s.ChangeSettings(ctx, who, body, false)
//
// The functions in Options count the queued work, up to a maximum. Each process writes rows about
// itself, and package processes reads them.
//
// The table system_check has one row, which contains the state of the last check. The process that
// runs the check holds a lease on this row. An installation therefore runs one check at a time, and
// every process can read the progress of the check. If the process dies, the check counts as broken
// off when the lease expires.
//
// Spec: interface 4.16.
package system
