package ui

import (
	"maps"
	"net/url"
	"strings"
)

// MaxWords limits the texts of one request. Spec: interface 4.10.
const MaxWords = 400

// Words maps tags to the names that people read.
type Words map[string]string

// Words reads the texts of tags. Errors: *Error.
func (v *Visit) Words(tags []string) (Words, error) {
	all := Words{}
	quiet := v.Quiet() // the texts are the same for all assets of a type, so the footer does not show the requests
	for len(tags) > 0 {
		n := min(len(tags), MaxWords)
		var some Words
		if err := quiet.Get("loc-2.v1/?["+url.QueryEscape(strings.Join(tags[:n], ","))+"]", &some); err != nil {
			return nil, err
		}
		maps.Copy(all, some)
		tags = tags[n:]
	}
	return all, nil
}

// Of returns the text of a tag, or the last part of the tag if it has no text.
func (w Words) Of(tag string) string {
	if text := w[tag]; text != "" {
		return text
	}
	return tag[strings.LastIndexByte(tag, '\'')+1:]
}

// TypeTag returns the tag of the name of a type.
func TypeTag(name string) string { return "AssetType'" + name }

// OperationTag returns the tag of the name of an operation.
func OperationTag(kind, name string) string { return "Operation'" + name + "'" + kind }

// TagsOf returns the tags of a type, its attributes and its operations.
func TagsOf(t *Type) []string {
	tags := []string{TypeTag(t.Token)}
	for _, a := range t.Attributes {
		tags = append(tags, a.DisplayName)
	}
	for _, o := range t.Operations {
		tags = append(tags, OperationTag(t.Token, o.Name))
	}
	return tags
}
