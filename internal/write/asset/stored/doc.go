// Package stored has the values of assets as the tables asset, asset_version and asset_text store them.
//
// Values are the values of one version: those in columns (Slots), those in the JSON object of the
// column attrs (Attrs), and the hashes of long texts. Columns chooses the columns of a statement, and
// prints values as its arguments. It adds the folded forms of texts, by which texts are compared.
//
// A long text that several versions of an asset have is a row of asset_text. Hash decides which texts
// these are, MoveTexts moves them out of earlier versions, and RewriteTexts replaces them.
//
// The package depends neither on commands nor on the rules of types.
package stored
