// Package system tells administrators how the installation is: which processes run, of
// which version, what waits, which queries are slow; it checks the database when they
// ask for it, and sets what they set while the service runs.
//
//	status, err := s.Status(ctx, who)
//	state, err := s.Start(ctx, who) // a check, which s.Run carries out
//	state, err := s.Check(ctx, who) // the last one, of whichever process
//	settings, err := s.ChangeSettings(ctx, who, body, false)
//
// What there is to tell belongs to others: packages count the work in their own tables,
// processes write rows, and all of it comes here through Options. Counts are bounded.
//
// A check is the one row of system_check, which its process holds under a lease. So
// there is one at a time in the whole installation, every process can tell how far it
// is, and one whose process died is broken off as soon as its lease has ended.
//
// Spec: interface 4.16.
package system
