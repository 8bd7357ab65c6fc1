// Package config reads all settings of a process from its environment, and reports
// every problem in one error.
//
// Settings is the one table of names, defaults and meanings; README's is
// checked against it. Packages receive plain values, never Config: only app
// knows it. A Secret prints as [redacted], whatever prints it.
package config
