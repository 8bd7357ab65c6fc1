// Package describe says what the model has, for clients that ask before they do
// anything else: its types, their attributes and operations, and what a path
// token leads to.
//
//	*meta.Model --Types, Of, Token--> Type, Attribute, Operation --encoder--> JSON or XML
//
// A description is a value that knows no format: each has an encoder. Documents are descriptions as bytes, with the tags by which clients
// know them again; what is asked for is described once. Of a model that follows
// another one only the parts that have changed are compressed anew.
//
// Spec: interface 2.4, 4.2.
package describe
