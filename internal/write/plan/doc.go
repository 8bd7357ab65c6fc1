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
// Spec: interface 4.18.
package plan
