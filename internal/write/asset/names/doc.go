// Package names finds the assets that a name means as the value of a relation.
//
// meta.Type.ResolveBy contains the attributes in which names are looked up. An asset with exactly
// the name is preferred to an asset whose text only has the same folded form (package folding).
package names
