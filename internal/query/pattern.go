package query

import "strings"

// likePattern returns the LIKE pattern for a value of ~=. "%" and "*" match any text. A value
// without them matches anywhere in a text.
func likePattern(text string) string {
	if !strings.ContainsAny(text, "%*") {
		return likeContains(text)
	}
	return likeEscape.Replace(strings.ReplaceAll(text, "*", "%"))
}

func likeContains(text string) string {
	return "%" + strings.ReplaceAll(likeEscape.Replace(text), "%", "|%") + "%"
}

// likeEscape escapes "_", which LIKE would read as a wildcard, and "|", which is the escape
// character in every statement.
var likeEscape = strings.NewReplacer("|", "||", "_", "|_")

// maxSimple is the maximum length of a simple pattern, in bytes.
const maxSimple = 100

// isSimple reports whether a pattern is short and has "%" only at its ends. Every database matches
// such a pattern fast.
func isSimple(pattern string) bool {
	inner := strings.TrimSuffix(strings.TrimPrefix(pattern, "%"), "%")
	return len(pattern) <= maxSimple && !strings.Contains(inner, "%")
}
