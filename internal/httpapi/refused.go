package httpapi

import "regexp"

// quoted is a value in a filter, to its end or that of the text, and the name of
// an anchor, which is what YAML takes a word behind a * for.
var quoted = regexp.MustCompile(`([=<>~,]\s*|anchor )(?:'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$))`)

// withoutValues is a message as it is logged. Messages quote what a client wrote,
// and a client may have written a password where none belongs.
func withoutValues(msg string) string { return quoted.ReplaceAllString(msg, "$1'…'") }
