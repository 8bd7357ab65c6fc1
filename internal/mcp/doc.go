// Package mcp is the door for agents: programs that decide by themselves what they do. They speak
// the Model Context Protocol, with few tools and short answers.
//
// Each call of a tool sends requests to the interface, with the credentials of the call, and
// prints their answers as lines of text. The package imports no engine, so a tool can do no more
// than the interface allows. The same tools work within the process, for the path mcp, and as a
// client of a service elsewhere, for the command "api mcp".
//
// Start with server.go, which has the list of tools. Each tool has a file of its own.
//
// Spec: interface 4.20.
package mcp
