// Package rig has the code that benches share: their main function and the installation that
// they measure. Some benches compare the service with a floor: hand-written code that does the
// same work. For these benches, rig has a database, the service in the same process, and a
// client with little overhead.
package rig
