// Package roles lists which member has which role in which project, by project and by member.
// It only reads; operations of the write engine assign roles.
//
// Spec: interface 4.3 (AssignMemberWithRole, AssignToScopeWithRole).
package roles
