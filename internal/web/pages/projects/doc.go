// Package projects makes the pages about projects: the tree of them, backlog, board, sprints, and numbers of past days.
//
// Spec: interface 4.15.
package projects
