// Package folding says when two texts are equal: when their NFC forms are equal
// under Unicode simple case folding, and in no other case. Accents, ß and ss,
// ligatures, kana with and without marks, characters of no width and spaces at
// the end all tell texts apart; é in one character or two does not, nor do K and
// the Kelvin sign.
//
//	folding.Of("Größe")         "größe": equal texts have equal folded forms
//	folding.IsPlain("Größe")    true: its lower case is its folded form, in SQL too
//	folding.IsPlain("GRÖSSE")   false: what SQL makes of Ö depends on the server
//
// No server computes this, and no collation is it. The folded form of a text
// that is not plain is therefore stored beside it, and compared byte by byte.
//
// It is pure and knows no database.
package folding
