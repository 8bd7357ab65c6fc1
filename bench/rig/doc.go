// Package rig has what benches share: how they start and end. Benches against a floor also
// share their own database, the whole service in the process of the bench, and a client with
// little overhead.
package rig
