// Package stored reads and writes JSON documents of assets: the values that have no separate column.
//
// Attrs is the JSON object in a column attrs or folded. If it is long, versions share it as a row of
// asset_text, and the package replaces such rows (RewriteTexts).
package stored
