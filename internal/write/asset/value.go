package asset

import (
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// maxText is how many characters an attribute of kind Text may have.
const maxText = 4000

// maxColumn is the largest size of one long text in bytes. It is also the largest size of all
// attributes in the JSON object together. A database server with default settings refuses larger
// values.
const maxColumn = 15 << 20

// maxMulti is how many characters one value of a multi-value scalar may have.
const maxMulti = 400

// maxKey limits the bytes of the folded form of one value of a multi-value scalar, because it
// is part of a key.
const maxKey = 2400

// ValueOf returns the scalar in a node of a request. If the node is not a boolean, a number or a
// string, it returns the zero Value, which is null.
func ValueOf(n *document.Node) Value {
	switch n.Kind {
	case document.Bool:
		return Value{Kind: Bool, Text: n.Text}
	case document.Number:
		return Value{Kind: Number, Text: n.Text}
	case document.String:
		return Value{Kind: Text, Text: n.Text}
	}
	return Value{}
}

// scalar converts a value of a client to the stored value: nil, string, int64, float64 or bool.
// Dates become UTC microseconds.
// Errors: fault.Invalid.
func scalar(a *meta.Attr, v Value) (any, error) {
	if v.Kind == Null {
		return nil, nil
	}
	if value.IsFreeText(a.Kind) {
		return text(a, v)
	}
	if v.isEmpty() {
		return nil, nil
	}
	if x, ok := parse(a, v.Text); ok && a.InRange(x) {
		return x, nil
	}
	return nil, invalid(a)
}

// parse parses the text of a value. It returns false if the text does not fit the kind of the
// attribute, or if a number is out of bounds.
func parse(a *meta.Attr, text string) (any, bool) {
	x, ok := value.Parse(a.Kind, a.DateOnly, text)
	return x, ok && value.IsBounded(a.Kind, x)
}

// text converts any scalar to text. For example, a name in a YAML file may look like a number.
func text(a *meta.Attr, v Value) (any, error) {
	if len(v.Text) > maxColumn {
		return nil, tooLong(a)
	}
	if a.Kind != meta.LongText && len(v.Text) > maxText && utf8.RuneCountInString(v.Text) > maxText {
		return nil, tooLong(a)
	}
	return v.Text, nil
}
