// Package models has the pages about the model: types, attributes and operations, and the
// definitions that administrators add.
//
// Spec: interface 4.2.
package models
