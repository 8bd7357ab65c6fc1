// Package roles answers who has which role in which project, by project and by
// member. It only reads; roles are given by operations of the write engine.
//
// Spec: interface 4.3 (AssignMemberWithRole, AssignToScopeWithRole).
package roles
