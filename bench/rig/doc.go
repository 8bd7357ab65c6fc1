// Package rig is what benches share: how they start and end, and for those
// against a floor a database of their own, the whole service in the process of
// the bench, and a client that costs little.
package rig
