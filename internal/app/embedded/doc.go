// Package embedded runs a Redis within the process, for standalone. Only cmd/standalone imports
// this package, and passes its function Start to package app. So the other programs do not link the
// Redis.
package embedded
