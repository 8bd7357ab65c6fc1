// Package model is the folder of the packages that describe assets: their types, attributes and
// rights, values and their kinds, identifiers, and the names that people read.
//
// No package here reads or writes an asset. Start with package meta, which reads the model files.
package model
