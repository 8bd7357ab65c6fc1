// Package scopes reads and writes the tree of projects, and the set of hidden projects.
//
// A row of scope_closure means that a project is above another project, or is the same project,
// between two moments. A project is hidden while the project itself or a project above it is
// deleted. The assets in a hidden project are hidden, but their rows do not change. A row of
// scope_hidden contains a hidden project, the deleted project that hides it, and the moments
// between which it is hidden.
//
// The caller must lock the tree before it calls this package.
package scopes
