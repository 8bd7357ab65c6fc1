package value

import "github.com/alds-dev/alds/internal/model/meta"

// Form is the representation of the values of a kind in Go, SQL and stored JSON.
type Form uint8

// The forms. Null is the form of a missing value; no kind has it.
const (
	Null  Form = iota
	Bool       // bool; 0 or 1 in SQL
	Int        // int64
	Float      // float64
	Text       // string
)

// kind describes the values of one attribute kind.
type kind struct {
	form  Form
	parse func(text string, dayOnly bool) (any, bool) // nil: any text is a value
	row   printer                                     // in rows of queries and in events, as JSON
	data  printer                                     // on the data path, as JSON
	xml   printer                                     // on the data path, as the text of an XML element

	equalFolded bool // two texts are equal if their folded forms are equal
	summable    bool // @Sum, @Min and @Max can be used
}

// kinds is the table of kinds. Other packages, which have the model, print relations and asset
// types.
var kinds = map[meta.Kind]*kind{
	meta.Boolean: {form: Bool, parse: parseBool, row: appendBool, data: appendBool, xml: appendBool},
	meta.Numeric: {form: Float, parse: parseFloat, row: appendQuotedNumber, data: appendNumber, xml: appendNumber, summable: true},
	meta.Rank:    {form: Int, parse: parseInt, row: appendQuotedNumber, data: appendNumber, xml: appendNumber, summable: true},
	meta.LongInt: {form: Int, parse: parseInt, row: appendQuotedNumber, data: appendNumber, xml: appendNumber, summable: true},
	meta.Opaque:  {form: Int, parse: parseInt, row: appendQuotedNumber, data: appendNumber, xml: appendNumber},
	meta.State:   {form: Int, parse: parseState, row: appendState, data: appendNumber, xml: appendNumber},
	meta.Date:    {form: Int, parse: parseDate, row: appendDate, data: appendDate, xml: appendPlainDate},

	meta.Text:         {form: Text, row: appendText, data: appendText, xml: appendXMLText, equalFolded: true},
	meta.LongText:     {form: Text, row: appendText, data: appendText, xml: appendXMLText, equalFolded: true},
	meta.LocalizerTag: {form: Text, row: appendText, data: appendText, xml: appendXMLText, equalFolded: true},
	meta.GUID:         {form: Text, parse: parseGUID, row: appendText, data: appendText, xml: appendXMLText, equalFolded: true},
	meta.Duration:     {form: Text, parse: parseDuration, row: appendText, data: appendText, xml: appendXMLText, equalFolded: true},
	meta.Blob:         {form: Text, parse: parseBlob, row: appendText, data: appendText, xml: appendXMLText},
	meta.Password:     {form: Text, row: appendText, data: appendText, xml: appendXMLText},

	meta.Relation:  {form: Int, row: appendText, data: appendText, xml: appendXMLText},
	meta.AssetType: {form: Int, row: appendText, data: appendText, xml: appendXMLText},
}

// FormOf returns the form of the values of a kind.
func FormOf(k meta.Kind) Form { return kinds[k].form }

// IsNumber reports whether the values of a kind can be added.
func IsNumber(k meta.Kind) bool { return kinds[k].summable }

// IsText reports whether the values of a kind are texts to compare and search. Two of these texts
// are equal if their folded forms are equal. An empty text counts as a missing value.
func IsText(k meta.Kind) bool { return kinds[k].equalFolded }

// IsFreeText reports whether a kind accepts any text, also the empty one.
func IsFreeText(k meta.Kind) bool { return IsText(k) && kinds[k].parse == nil }
