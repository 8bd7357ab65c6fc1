// Package doctest runs the commands of the documents exactly as they are written: every block of commands
// and every command in the text, in their order, in one shell. A statement of SQL, a request such as `GET
// api/system` and a Prometheus expression are commands, too. Each document has a table in the test. A row
// says whether a command runs to its end or in the background, what it must print, or why it is not run. A
// command without a row fails the test.
//
//	document_test.go    finds the commands of a document
//	shell_test.go       runs them
//	readme_test.go      the table of the README
//	guide_test.go       follows an operator through many documents, on one installation
//	operations_test.go  the tables of these documents
//	…_test.go           the tables of other documents
//
// Addresses and data folders are replaced with those of the test, and https://alds.example.org with an
// nginx of the test. Nothing else is replaced.
package doctest
