package db

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
)

// MaxInline is how many bytes a text has at most that each version repeats. A longer one
// that several versions of an asset have is a row of asset_text; a hash of 16 bytes and that
// row take more than a few short repetitions.
const MaxInline = 96

// LongTexts are the columns of asset and asset_version whose texts may be long.
var LongTexts = [...]string{"description", "attrs", "folded"}

// TextHash is a hash of a text, by which versions refer to it: the first half of its
// SHA-256, so that nobody finds two texts with the same.
func TextHash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:16]
}

// HashColumn is the column of the hash of one of the LongTexts; NULL where the text is
// short, or stands in the row of the one version that has it.
func HashColumn(name string) string { return name + "_hash" }

// OfVersion returns the expression of a column of a row of asset_version, by the row's
// alias: a text that lies apart is read from there.
func OfVersion(alias, column string) string {
	row := alias + "." + column
	if !slices.Contains(LongTexts[:], column) {
		return row
	}
	hash := alias + "." + HashColumn(column)
	return "CASE WHEN " + hash + " IS NULL THEN " + row +
		" ELSE (SELECT x.text FROM asset_text x WHERE x.asset_id = " + alias + ".id AND x.hash = " + hash + ") END"
}

// OfVersions returns the expressions of columns of asset_version, separated by commas.
func OfVersions(alias string, columns []string) string {
	all := make([]string, len(columns))
	for i, name := range columns {
		all[i] = OfVersion(alias, name)
	}
	return strings.Join(all, ", ")
}

// ForVersion returns the expressions of columns of asset for a version of it, separated by
// commas: without the texts that lie apart.
func ForVersion(columns []string) string {
	all := slices.Clone(columns)
	for i, name := range columns {
		if slices.Contains(LongTexts[:], name) {
			all[i] = "CASE WHEN " + HashColumn(name) + " IS NULL THEN " + name + " END"
		}
	}
	return strings.Join(all, ", ")
}

// HashColumns are the columns of hashes of the LongTexts, in their order.
func HashColumns() []string {
	all := make([]string, len(LongTexts))
	for i, name := range LongTexts {
		all[i] = HashColumn(name)
	}
	return all
}

// UnusedText is the condition that no version of its asset has a row x of asset_text.
var UnusedText = func() string {
	has := "v." + strings.Join(HashColumns(), " = x.hash OR v.") + " = x.hash"
	return "NOT EXISTS (SELECT 1 FROM asset_version v WHERE v.id = x.asset_id AND (" + has + "))"
}()

// RemoveTexts removes the texts that no version of some assets, at most MaxIn, has any
// more. The transaction has to have locked the assets: who writes one may need such a
// text again.
func RemoveTexts(ctx context.Context, tx *Tx, assets []int64) error {
	in, args := InArgs(assets)
	_, err := tx.Exec(ctx, `DELETE FROM asset_text WHERE asset_id IN `+in+` AND `+strings.ReplaceAll(UnusedText, "x.", "asset_text."), args...)
	return err
}
