// Package query turns a client's query into a plan. Every step is a pure function from value to
// value:
//
//	document, URL --FromDoc, FromParams--> Request  what the client wrote
//	Request       --Bind(model)-->         Bound    names resolved, values converted to their types
//	Bound         --NewPlan-->             Plan     tables, conditions and columns
//
// Package sqlgen writes a Plan as SQL, and package find runs it. A column is one selected token. A
// branch is the statement that reads a to-many column or a nested select. It does so for a block of
// parents, which are rows of the outer statement. A cell is one value in a row of a statement.
//
// A moment is the number of a change. A table is read in one of four modes:
//
//	Now      the current rows
//	At       all rows at one moment
//	Each     each row at the moment of a row of another table
//	Version  every version at its own moment
//
// The package never uses a database. Text from a client never becomes SQL. In a plan it is only an
// argument.
//
// Spec: interface 2.3, 4.1, 4.3; messages of interface 7.2.
package query
