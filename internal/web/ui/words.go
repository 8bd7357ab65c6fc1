package ui

import (
	"net/url"
	"strings"
)

// MaxWords is how many texts one request asks for. Spec: interface 4.10.
const MaxWords = 400

// Words are the names that people read, by tag.
type Words map[string]string

// Words asks for the texts of tags.
func (v *Visit) Words(tags []string) (Words, error) {
	all := Words{}
	quiet := v.Quiet() // the same for every asset of a type, so not shown
	for len(tags) > 0 {
		n := min(len(tags), MaxWords)
		var some Words
		if err := quiet.Get("loc-2.v1/?["+url.QueryEscape(strings.Join(tags[:n], ","))+"]", &some); err != nil {
			return nil, err
		}
		for tag, text := range some {
			all[tag] = text
		}
		tags = tags[n:]
	}
	return all, nil
}

// Of is the text of a tag, or else its last part.
func (w Words) Of(tag string) string {
	if text := w[tag]; text != "" {
		return text
	}
	return tag[strings.LastIndexByte(tag, '\'')+1:]
}

// TypeTag is the tag of the name of a type.
func TypeTag(name string) string { return "AssetType'" + name }

// OperationTag is the tag of the name of an operation.
func OperationTag(kind, name string) string { return "Operation'" + name + "'" + kind }

// TagsOf are the tags of a type, its attributes and its operations.
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
