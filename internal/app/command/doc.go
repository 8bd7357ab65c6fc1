// Package command is the command line of the programs in cmd. Without arguments it runs the role
// of the program; otherwise it runs a command, such as migrate, check or token.
//
//	Main: arguments → parse → app.Run, or the method Run of a command → exit status
//
// The file grammar.go lists the commands. Most of them open the database with app.Open, do one
// thing and print the result. The commands health and import are clients of a running process
// instead.
package command
