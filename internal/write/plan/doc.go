// Package plan shows exactly what a request would change, and carries it out only if it still changes the same.
//
// A plan is made by executing the commands of a request, or an undo, to the end and rolling them back. The
// request and its effect are stored. To carry the plan out, the request is executed again. Its effect is
// compared with the stored one before the commit:
//
//	plan.go    makes a plan, and carries it out
//	effect.go  the effect as lines of JSON, and its size in numbers and words
//	differ.go  what differs between two effects
//
// A plan can be kept as a proposal, for somebody else to apply:
//
//	proposal.go  keeps a plan as a proposal, makes its plan anew, and applies it
//	view.go      the effect of a proposal, as far as a member may see it
//
// Spec: interface 4.18, 4.19.
package plan
