// Package system shows administrators the state of the installation: the processes and their
// versions, the queued work, the slow queries. It also checks the database on request, and
// changes settings at runtime.
//
//	status, err := s.Status(ctx, who)
//	state, err := s.Start(ctx, who) // a check, which s.Run runs
//	state, err := s.Check(ctx, who) // the last one, of any process
//	settings, err := s.ChangeSettings(ctx, who, body, false)
//
// The data comes from other packages through Options: they count the work in their own tables,
// and processes write rows. Counts are bounded.
//
// A check is the only row of system_check, which its process holds under a lease. So the whole
// installation runs one check at a time, and every process can read its progress. If a process
// dies, its check is broken off when the lease expires.
//
// Spec: interface 4.16.
package system
