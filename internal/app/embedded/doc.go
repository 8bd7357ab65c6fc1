// Package embedded is a Redis within the process, for standalone. Only cmd/standalone
// links it; it is passed to app as a function.
package embedded
