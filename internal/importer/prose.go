package importer

import (
	"strconv"
	"strings"
	"time"
)

// prose is a value as text; of a document (type, content, text) its texts, each
// paragraph on a line.
func prose(v any) string {
	object, ok := v.(map[string]any)
	if !ok || object["type"] == nil || object["content"] == nil && object["text"] == nil {
		return word(v)
	}
	var text strings.Builder
	writeProse(&text, object)
	return strings.TrimSpace(text.String())
}

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

// ownProse is the text of a node itself: of what has none, such as a mention or a card,
// what it stands for.
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

// target is where a text leads to, in brackets, unless the text says it.
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
