// Package projects has the pages about projects: the project tree, backlog, board, sprints,
// burndown and cumulative flow.
//
// Spec: interface 4.15.
package projects
