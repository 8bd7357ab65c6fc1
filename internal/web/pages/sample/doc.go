// Package sample makes the pages about what a new service greets with: a sample project, and a receiver where its events appear.
//
// Spec: interface 4.15.
package sample
