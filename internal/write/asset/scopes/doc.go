// Package scopes reads and writes the tree of projects, and which projects are hidden.
//
// A row of scope_closure means that a project is above another, or the same, between two moments. A
// project is hidden while it, or a project above it, is deleted. The assets in a hidden project are
// hidden, but their rows do not change. A row of scope_hidden contains a hidden project, the deleted
// project that hides it, and the moments between which it is hidden.
//
// The caller has locked the tree.
package scopes
