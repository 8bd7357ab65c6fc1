package db

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
)

// MaxInline is the maximum length, in bytes, of a text that is stored in every version of an asset.
// A longer text that several versions of an asset share is stored once, as a row of asset_text. For
// a short text, that row and a hash of 16 bytes would take more space than the repetitions.
const MaxInline = 96

// LongTexts are the columns of asset and asset_version whose texts may be long.
var LongTexts = [...]string{"description", "attrs", "folded"}

// TextHash returns the hash by which versions refer to a text: the first half of its SHA-256. Two
// different texts with the same hash cannot be found in practice.
func TextHash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:16]
}

// HashColumn returns the name of the hash column of one of the LongTexts. The column is NULL
// if the text is short, or is stored in the only version that has it.
func HashColumn(name string) string { return name + "_hash" }

// OfVersion returns the expression for a column of asset_version; alias is the alias of the row.
// The expression reads a text from asset_text if the text is stored there.
func OfVersion(alias, column string) string {
	row := alias + "." + column
	if !slices.Contains(LongTexts[:], column) {
		return row
	}
	hash := alias + "." + HashColumn(column)
	return "CASE WHEN " + hash + " IS NULL THEN " + row +
		" ELSE (SELECT x.text FROM asset_text x WHERE x.asset_id = " + alias + ".id AND x.hash = " + hash + ") END"
}

// OfVersions returns the expressions for columns of asset_version, separated by commas.
func OfVersions(alias string, columns []string) string {
	all := make([]string, len(columns))
	for i, name := range columns {
		all[i] = OfVersion(alias, name)
	}
	return strings.Join(all, ", ")
}

// ForVersion returns the expressions that copy columns of asset into a version, separated by
// commas. They leave out texts that asset_text stores.
func ForVersion(columns []string) string {
	all := slices.Clone(columns)
	for i, name := range columns {
		if slices.Contains(LongTexts[:], name) {
			all[i] = "CASE WHEN " + HashColumn(name) + " IS NULL THEN " + name + " END"
		}
	}
	return strings.Join(all, ", ")
}

// HashColumns returns the hash columns of the LongTexts, in order.
func HashColumns() []string {
	all := make([]string, len(LongTexts))
	for i, name := range LongTexts {
		all[i] = HashColumn(name)
	}
	return all
}

// UnusedText is the condition that no version refers to the row x of asset_text.
var UnusedText = func() string {
	has := "v." + strings.Join(HashColumns(), " = x.hash OR v.") + " = x.hash"
	return "NOT EXISTS (SELECT 1 FROM asset_version v WHERE v.id = x.asset_id AND (" + has + "))"
}()

// RemoveTexts removes the texts of some assets, at most MaxIn, that no version refers to any
// more. The transaction must have locked the assets, because another write of an asset may
// refer to one of these texts again.
func RemoveTexts(ctx context.Context, tx *Tx, assets []int64) error {
	in, args := InArgs(assets)
	_, err := tx.Exec(ctx, `DELETE FROM asset_text WHERE asset_id IN `+in+` AND `+strings.ReplaceAll(UnusedText, "x.", "asset_text."), args...)
	return err
}
