package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// jsonObject is a JSON object that keeps the order of its members. A value is a string,
// json.Number, bool, nil, []any or jsonObject.
type jsonObject []jsonMember

type jsonMember struct {
	Name  string
	Value any
}

var errJSON = errors.New("the answer is not JSON")

// get returns the value of a member, or nil.
func (o jsonObject) get(name string) any {
	for _, f := range o {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// set replaces the value of an existing member.
func (o jsonObject) set(name string, value any) {
	for i := range o {
		if o[i].Name == name {
			o[i].Value = value
		}
	}
}

// has reports whether a member exists.
func (o jsonObject) has(name string) bool {
	return slices.ContainsFunc(o, func(f jsonMember) bool { return f.Name == name })
}

// MarshalJSON writes the members in their order.
func (o jsonObject) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		name, err := plainJSON(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := plainJSON(f.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// plainJSON encodes a value without escapes for HTML.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// compactJSON encodes a value on one line, or returns "" if it cannot be encoded.
func compactJSON(v any) string {
	b, err := plainJSON(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// readOrdered decodes the next value. Errors: errJSON and errors of the decoder.
func readOrdered(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := jsonObject{}
		err := eachMember(d, func(name string) error {
			value, err := readOrdered(d)
			o = append(o, jsonMember{Name: name, Value: value})
			return err
		})
		return o, err
	case json.Delim('['):
		list := []any{}
		err := eachElement(d, func() error {
			value, err := readOrdered(d)
			list = append(list, value)
			return err
		})
		return list, err
	}
	return token, nil
}

// parseOrdered decodes a value and keeps the order of its members.
func parseOrdered(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return readOrdered(d)
}

// eachMember calls read for every member of an object, after its opening brace. read must
// decode the value.
func eachMember(d *json.Decoder, read func(name string) error) error {
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errJSON
		}
		if err := read(name); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// eachElement calls read for every element of a list, after its opening bracket. read must
// decode the element.
func eachElement(d *json.Decoder, read func() error) error {
	for d.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}
