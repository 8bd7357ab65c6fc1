// Package query turns what a client asked into a plan that can be run. Every
// step is a pure function from value to value:
//
//	document, URL --FromDoc, FromParams--> Request  what the client wrote, nothing checked
//	Request       --Bind(model)-->         Bound    names found in the model, values typed
//	Bound         --NewPlan-->             Plan     tables, conditions and columns
//
// Package sqlgen writes a Plan as SQL, package find runs it. Words: a column is
// one selected token; a branch is the further statement that fetches a to-many
// column, or a nested select, for a block of parents; a cell is one value of a
// statement's row.
//
// The time a plan reads is one of three: Now, At one moment for every row, or
// Each row at the moment of its own version.
//
// The package never sees a database, and text of the client never becomes SQL:
// it stands in a plan only as an argument.
//
// Spec: interface 2.3, 4.1, 4.3; messages of interface 7.2.
package query
