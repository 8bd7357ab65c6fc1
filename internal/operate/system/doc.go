// Package system shows administrators the state of the installation: the processes and their
// versions, the queued work, and the slow queries. It also checks the database on request,
// and changes settings at runtime.
//
//	status, err := s.Status(ctx, who)
//	state, err := s.Start(ctx, who) // starts a check, which s.Run runs
//	state, err := s.Check(ctx, who) // returns the state of the last check of any process
//	settings, err := s.ChangeSettings(ctx, who, body, false)
//
// The functions in Options count the queued work; their counts are bounded. Package processes
// reads the rows that each process writes about itself.
//
// The table system_check has one row, the state of the last check. The process that runs the
// check holds this row under a lease. An installation therefore runs one check at a time, and
// every process can read its progress. If the process dies, the check is broken off when the
// lease expires.
//
// Spec: interface 4.16.
package system
