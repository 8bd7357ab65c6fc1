// Package names finds the assets that a name means as the value of a relation.
//
// A type says in which of its attributes names are looked up (meta.Type.ResolveBy). A text that is
// exactly the name goes before one with the same folded form.
package names
