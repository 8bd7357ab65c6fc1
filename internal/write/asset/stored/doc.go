// Package stored contains the values of assets as the tables asset, asset_version and asset_text
// store them.
//
// Values are the values of one version: the values in columns (Slots), the values in the JSON
// object of the column attrs (Attrs), and the hashes of long texts. Columns chooses the columns
// of a statement, and converts values to its arguments. It adds the folded forms of texts, by
// which texts are compared.
//
// If several versions of an asset have the same long text, the text is a row of asset_text. Hash
// decides which texts are stored there, MoveTexts moves them out of earlier versions, and
// RewriteTexts replaces them.
//
// The package depends neither on commands nor on the rules of types.
package stored
