package pages

import (
	"net/url"
	"strings"
)

// maxWords is how many texts one request asks for. Spec: interface 4.10.
const maxWords = 400

// words are the names that people read, by tag.
type words map[string]string

// words asks for the texts of tags.
func (v *visit) words(tags []string) (words, error) {
	all := words{}
	quiet := v.asking(v.api.authorization) // the same for every asset of a type, so not shown
	for len(tags) > 0 {
		n := min(len(tags), maxWords)
		var some words
		if err := quiet.get("loc-2.v1/?["+url.QueryEscape(strings.Join(tags[:n], ","))+"]", &some); err != nil {
			return nil, err
		}
		for tag, text := range some {
			all[tag] = text
		}
		tags = tags[n:]
	}
	return all, nil
}

// of is the text of a tag, or else its last part.
func (w words) of(tag string) string {
	if text := w[tag]; text != "" {
		return text
	}
	return tag[strings.LastIndexByte(tag, '\'')+1:]
}

// typeTag is the tag of the name of a type.
func typeTag(name string) string { return "AssetType'" + name }

// operationTag is the tag of the name of an operation.
func operationTag(kind, name string) string { return "Operation'" + name + "'" + kind }

// tagsOf are the tags of a type, its attributes and its operations.
func tagsOf(t *describedType) []string {
	tags := []string{typeTag(t.Token)}
	for _, a := range t.Attributes {
		tags = append(tags, a.DisplayName)
	}
	for _, o := range t.Operations {
		tags = append(tags, operationTag(t.Token, o.Name))
	}
	return tags
}
