package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// decode reads the arguments of a tool. Errors: *refusal for arguments that the tool does not have,
// and for values of another kind.
func decode(raw json.RawMessage, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.New("more than one value")
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return refusef("The argument %s cannot be %s", wrong.Field, article(wrong.Value))
	}
	return refusef("The arguments cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func article(kind string) string {
	kind, _, _ = strings.Cut(kind, " ")
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}

// whole is a whole number. Some agents send numbers as texts.
type whole int

// UnmarshalJSON reads a number, or a text with one.
func (n *whole) UnmarshalJSON(b []byte) error {
	i, err := strconv.Atoi(strings.Trim(string(b), `" `))
	if err != nil {
		return fmt.Errorf("%.40s is not a whole number", b)
	}
	*n = whole(i)
	return nil
}

// texts is a list of texts. A single text is a list with one element.
type texts []string

// UnmarshalJSON reads a list of texts, or one text.
func (t *texts) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = texts{textOf(b)}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// values is a list of JSON values. A single value is a list with one element.
type values []json.RawMessage

// UnmarshalJSON reads a list, or one value.
func (v *values) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]json.RawMessage)(v))
	}
	*v = values{bytes.Clone(b)}
	return nil
}

// document is a JSON object or list. Some agents send it as a text.
type document []byte

// UnmarshalJSON reads an object, a list, or a text with one of them.
func (d *document) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		b = []byte(strings.TrimSpace(textOf(b)))
	}
	if len(b) == 0 || b[0] != '{' && b[0] != '[' || !json.Valid(b) {
		return fmt.Errorf("%.40q is neither an object nor a list", b)
	}
	*d = bytes.Clone(b)
	return nil
}
