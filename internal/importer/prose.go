package importer

import (
	"strconv"
	"strings"
	"time"
)

// prose returns a value as text. For a document of Jira (an object with type and content or text)
// it returns the texts in the document, each paragraph on its own line.
func prose(v any) string {
	object, ok := v.(map[string]any)
	if !ok || object["type"] == nil || object["content"] == nil && object["text"] == nil {
		return word(v)
	}
	var text strings.Builder
	writeProse(&text, object)
	return strings.TrimSpace(text.String())
}

// writeProse appends the text of a node of a document and of the nodes in it.
func writeProse(text *strings.Builder, node map[string]any) {
	text.WriteString(ownProse(node))
	content, _ := node["content"].([]any)
	for _, c := range content {
		if child, ok := c.(map[string]any); ok {
			writeProse(text, child)
		}
	}
	switch node["type"] {
	case "paragraph", "heading", "codeBlock", "hardBreak", "listItem":
		text.WriteString("\n")
	}
}

// ownProse returns the text of a node without the nodes in it. For a node without text, such as
// a mention or a card, it returns a text attribute, an address or a date.
func ownProse(node map[string]any) string {
	if t, ok := node["text"].(string); ok {
		return t + target(node, t)
	}
	attrs, _ := node["attrs"].(map[string]any)
	for _, member := range []string{"text", "shortName", "url"} {
		if t, ok := attrs[member].(string); ok && t != "" {
			return t
		}
	}
	if ms, err := strconv.ParseInt(word(attrs["timestamp"]), 10, 64); err == nil && node["type"] == "date" {
		return time.UnixMilli(ms).UTC().Format(time.DateOnly)
	}
	return ""
}

// target returns the address of a link in brackets, unless the text of the link is the address.
func target(node map[string]any, text string) string {
	marks, _ := node["marks"].([]any)
	for _, m := range marks {
		mark, _ := m.(map[string]any)
		attrs, _ := mark["attrs"].(map[string]any)
		if to, ok := attrs["href"].(string); ok && mark["type"] == "link" && to != text {
			return " (" + to + ")"
		}
	}
	return ""
}
