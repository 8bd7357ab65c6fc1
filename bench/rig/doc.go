// Package rig is what benches against a floor share: a database of their own,
// the whole service in the process of the bench, and a client that costs little.
package rig
