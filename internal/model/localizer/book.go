package localizer

import (
	"embed"
	"strings"

	"golang.org/x/text/language"
)

// files contains the files texts/<language>.txt. Each of their lines has the form "tag = text". A
// line "tag@XP = text" applies only in that methodology. {tag} in a text is replaced by the text of
// that tag. A line that begins with # is a comment.
//
//go:embed texts
var files embed.FS

// languages are the available languages, English first. If another language has no text, the
// English text is used.
var languages = []language.Tag{language.English, language.German}

// book has the texts of one language in one methodology, by tag.
type book struct {
	tag   language.Tag
	texts map[string]string
}

// books reads the texts of all languages.
func books(methodology string) []book {
	all := make([]book, len(languages))
	for i, tag := range languages {
		text, err := files.ReadFile("texts/" + tag.String() + ".txt")
		if err != nil {
			panic(err) // the program was built without the file
		}
		all[i] = book{tag, read(string(text), methodology)}
	}
	return all
}

func read(text, methodology string) map[string]string {
	texts := map[string]string{}
	var special [][2]string
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		tag, only, _ := strings.Cut(key, "@")
		switch only {
		case "":
			texts[tag] = value
		case methodology:
			special = append(special, [2]string{tag, value})
		}
	}
	for _, s := range special {
		texts[s[0]] = s[1]
	}
	return texts
}
