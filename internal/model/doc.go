// Package model is the folder of what assets are: types, attributes and rights, values and
// their kinds, identifiers, and the names that people read.
//
// Nothing here reads or writes an asset. Start with meta, which reads the model files.
package model
