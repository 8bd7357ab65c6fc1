package ui

import "regexp"

// Coded matches the code in a refusal of the interface: the kind, the rule and the attribute.
// Spec: interface 7.2.
var Coded = regexp.MustCompile(`(Violation|Resolution|Denied)'(?:(\w+)')?(?:(\w+)\.)?(\w+)(?:'\w+)?`)

// rules has the English text for each rule in a code.
var rules = map[string]string{
	"Required":   "is required",
	"Invalid":    "is not valid",
	"NotUnique":  "is taken already",
	"TooLong":    "is too long",
	"Unresolved": "names nothing that you see",
	"ReadOnly":   "cannot be changed",
}

// Readable replaces the codes in a message with English, with the names of the interface. Text
// without a code stays unchanged.
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

// Readable replaces the codes in a message with texts of the interface, which have the names
// that people see, such as Project for Scope. If the texts cannot be read, it uses the names
// of the interface.
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
