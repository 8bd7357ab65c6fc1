// Package models makes the pages about the model: types, attributes and operations, and those that administrators add.
//
// Spec: interface 4.2.
package models
