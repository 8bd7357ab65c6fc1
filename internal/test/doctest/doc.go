// Package doctest runs the commands of the documents for people, as they are written:
// every block of commands, and every command in the text, in the order in which they
// stand, in one shell. A statement of SQL, a request such as `GET api/system` and an
// expression of Prometheus are commands, too. A document's table says of each whether it
// runs until it ends or beside the others, what it must print, or why it is not run; one
// that has no row fails the test.
//
//	document_test.go    finds the commands of a document
//	shell_test.go       runs them
//	readme_test.go      the table of the README
//	guide_test.go       the walk of an operator through many documents, on one installation
//	operations_test.go  the tables of these
//	…_test.go           that of other documents
//
// Addresses and data folders are those of the test, and https://alds.example.org is an
// nginx of the test; nothing else is replaced.
package doctest
