// Package folding defines when two texts are equal: exactly when their NFC forms are equal
// under Unicode simple case folding. Texts differ if they differ in accents, ß and ss,
// ligatures, marks of kana, characters of no width, or spaces at the end. The two forms of é,
// in one character or two, are equal, and so are K and the Kelvin sign.
//
//	folding.Of("Größe")         "größe": equal texts have equal folded forms
//	folding.IsPlain("Größe")    true: its lower case is its folded form, in SQL too
//	folding.IsPlain("GRÖSSE")   false: the lower case of Ö in SQL depends on the server
//
// No database server or collation computes this folded form. If a text is not plain, its folded
// form is therefore stored beside the text, and compared byte by byte.
//
// The package is pure and uses no database.
package folding
