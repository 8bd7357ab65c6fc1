// Package embedded runs a Redis within the process, for standalone. Only cmd/standalone imports
// it, and passes it to package app as a function, so that the other programs do not link it.
package embedded
