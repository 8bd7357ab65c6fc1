// Package rig has the code that benches share: their main function and the installation that
// they measure. For benches that compare with a floor, it has a database, the service in the
// same process, and a client with little overhead.
package rig
