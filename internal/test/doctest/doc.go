// Package doctest runs the commands of the documents exactly as they are written: every block of commands
// and every command in the text, in their order, in one shell. SQL statements, requests such as `GET
// api/system` and Prometheus expressions are commands, too. The test has a table for each document, with a
// row for each command. The row says whether the command runs to its end or in the background, what it must
// print, or why it is not run. A command without a row fails the test.
//
//	document_test.go    finds the commands of a document
//	shell_test.go       runs them
//	readme_test.go      the table for the README
//	guide_test.go       runs the commands of many documents one after another, on one installation
//	operations_test.go  the tables for these documents
//	…_test.go           the tables for other documents
//
// The test replaces addresses and data folders with its own, and https://alds.example.org with an nginx
// that it starts. It replaces nothing else.
package doctest
