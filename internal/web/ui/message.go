package ui

import "regexp"

// Coded is how the interface words what it refuses: the kind, the rule and the place.
// Spec: interface 7.2.
var Coded = regexp.MustCompile(`(Violation|Resolution|Denied)'(?:(\w+)')?(?:(\w+)\.)?(\w+)(?:'\w+)?`)

// rules are the words for them.
var rules = map[string]string{
	"Required":   "is required",
	"Invalid":    "is not valid",
	"NotUnique":  "is taken already",
	"TooLong":    "is too long",
	"Unresolved": "names nothing that you see",
	"ReadOnly":   "cannot be changed",
}

// Readable words a message of the interface for people who know its names; what has no
// code stays.
func Readable(message string) string {
	return Coded.ReplaceAllStringFunc(message, func(text string) string {
		m := Coded.FindStringSubmatch(text)
		words, known := rules[m[2]]
		switch {
		case m[1] == "Denied":
			return "Your role does not allow it: " + m[4]
		case known:
			return m[4] + " " + words
		}
		return text
	})
}

// Readable words a message of the interface with the names that people see on pages, such
// as Project for Scope; where these cannot be read, with those of the interface.
func (v *Visit) Readable(message string) string {
	codes := Coded.FindAllString(message, -1)
	if len(codes) == 0 || len(codes) > MaxWords {
		return message
	}
	words, err := v.Words(codes)
	if err != nil {
		return Readable(message)
	}
	return Coded.ReplaceAllStringFunc(message, func(code string) string {
		if text := words[code]; text != "" {
			return text
		}
		return Readable(code)
	})
}
