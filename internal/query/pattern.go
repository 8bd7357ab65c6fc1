package query

import "strings"

// likePattern makes the pattern that ~= means: "%" and "*" stand for any text,
// and text without either may stand anywhere.
func likePattern(text string) string {
	if !strings.ContainsAny(text, "%*") {
		return likeContains(text)
	}
	return likeEscape.Replace(strings.ReplaceAll(text, "*", "%"))
}

func likeContains(text string) string {
	return "%" + strings.ReplaceAll(likeEscape.Replace(text), "%", "|%") + "%"
}

// likeEscape protects what LIKE would read as a wildcard; "|" is its escape
// character in every statement.
var likeEscape = strings.NewReplacer("|", "||", "_", "|_")

// maxSimple bounds the bytes of a simple pattern.
const maxSimple = 100

// isSimple reports whether a pattern is short and has no "%" but at its ends, so that
// every way to match it is fast.
func isSimple(pattern string) bool {
	inner := strings.TrimSuffix(strings.TrimPrefix(pattern, "%"), "%")
	return len(pattern) <= maxSimple && !strings.Contains(inner, "%")
}
