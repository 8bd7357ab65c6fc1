// Package describe describes the model for clients: its types with their attributes and operations,
// and the targets of path tokens.
//
//	*meta.Model --Types, Of, Token--> Type, Attribute, Operation --encoder--> JSON or XML
//
// A description is a value without a format; each format has an encoder. The type Documents keeps
// descriptions as bytes. Each description is encoded once, on first use, and gets a tag that
// changes with its content. When a model replaces another model, only the changed parts are
// compressed again.
//
// Spec: interface 2.4, 4.2.
package describe
