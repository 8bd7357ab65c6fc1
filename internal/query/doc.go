// Package query turns a client's query into a plan. Every step is a pure function
// from value to value:
//
//	document, URL --FromDoc, FromParams--> Request  what the client wrote
//	Request       --Bind(model)-->         Bound    names resolved, values of their kinds
//	Bound         --NewPlan-->             Plan     tables, conditions and columns
//
// Package sqlgen writes a Plan as SQL, package find runs it. A column is one selected
// token; a branch is the statement that reads a to-many column, or a nested select,
// for a block of parents; a cell is one value of a statement's row.
//
// The time a plan reads is one of three: Now, At one moment for every row, or
// Each row at the moment of its own version.
//
// The package never sees a database. Text of the client never becomes SQL: in a plan
// it is only an argument.
//
// Spec: interface 2.3, 4.1, 4.3; messages of interface 7.2.
package query
