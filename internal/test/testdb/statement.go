package testdb

import (
	"regexp"
	"strings"
)

// Statement is a statement that a server received, without its values. So only a few different statements
// remain.
type Statement struct {
	// Text is the readable form. A value is "?". Several values in parentheses are "(?…)", and several such
	// parentheses are "(?…)…".
	Text string
	// words is the form in which rules search. It has a space around each token. Words are in upper case,
	// names in backquotes are in lower case.
	words string
}

var (
	manyValues = regexp.MustCompile(`\(\?(, \?)+\)`)
	manyRows   = regexp.MustCompile(`\(\?…?\)(, ?\(\?…?\))+`)
	oneRow     = regexp.MustCompile(`(?i)(VALUES )\(\?…?\)$`)
	savepoint  = regexp.MustCompile(`(SAVEPOINT p)\d+$`)
	spaces     = strings.NewReplacer(" , ", ", ", "( ", "(", " )", ")", " . ", ".")
)

// statementsOf returns the statements in a text that a server received.
func statementsOf(text string) []Statement {
	var all []Statement
	var tokens []string
	end := func() {
		if len(tokens) > 0 {
			all = append(all, newStatement(tokens))
		}
		tokens = nil
	}
	for text != "" {
		var kind lexeme
		var n int
		kind, n = next(text)
		token := text[:n]
		text = text[n:]
		switch {
		case kind == value:
			tokens = append(withoutPrefix(tokens), "?")
		case kind == word && strings.EqualFold(token, "NULL") && inValues(tokens):
			tokens = append(tokens, "?")
		case token == ";":
			end()
		case kind != nothing:
			tokens = append(tokens, token)
		}
	}
	end()
	return all
}

func newStatement(tokens []string) Statement {
	shown := spaces.Replace(strings.Join(tokens, " "))
	shown = manyRows.ReplaceAllString(manyValues.ReplaceAllString(shown, "(?…)"), "(?…)…")
	shown = savepoint.ReplaceAllString(oneRow.ReplaceAllString(shown, "${1}(?…)…"), "${1}1")
	for i, t := range tokens {
		if strings.HasPrefix(t, "`") {
			tokens[i] = strings.ToLower(t)
		} else {
			tokens[i] = strings.ToUpper(t)
		}
	}
	return Statement{Text: shown, words: " " + strings.Join(tokens, " ") + " "}
}

// lexeme is the kind of a token.
type lexeme int

const (
	// nothing is white space, a comment, or the beginning or end of a comment whose content some servers
	// execute.
	nothing lexeme = iota
	value
	word // also for a name in backquotes
	sign
)

// next returns the kind and the length of the token at the beginning of a text.
func next(text string) (lexeme, int) {
	switch c := text[0]; {
	case c <= ' ':
		return nothing, 1
	case strings.HasPrefix(text, "/*"):
		return nothing, comment(text)
	case strings.HasPrefix(text, "*/"):
		return nothing, 2
	case c == '?':
		return value, 1
	case c == '\'' || c == '"':
		return value, quoted(text)
	case c == '`':
		return word, 2 + strings.IndexByte(text[1:]+"`", '`')
	case c >= '0' && c <= '9':
		return value, span(text, func(c byte) bool { return c == '.' || isWord(c) })
	case isWord(c):
		return word, span(text, isWord)
	case len(text) > 1 && strings.IndexByte("<>!:|&", c) >= 0 && strings.IndexByte("=>|&", text[1]) >= 0:
		return sign, 2
	}
	return sign, 1
}

// comment returns the length of a comment. If some servers execute its content, it returns only the length
// of its beginning. MySQL and TiDB execute "/*!50708", and only TiDB executes "/*T![clustered_index]".
// "/*M!" is executed only by MariaDB and counts as a comment.
func comment(text string) int {
	for _, open := range []string{"/*!", "/*T!"} {
		if rest, ok := strings.CutPrefix(text, open); ok {
			n := span(rest, func(c byte) bool { return c >= '0' && c <= '9' })
			if strings.HasPrefix(rest, "[") {
				n = strings.IndexByte(rest, ']') + 1
			}
			return len(open) + n
		}
	}
	if end := strings.Index(text[2:], "*/"); end >= 0 {
		return end + 4
	}
	return len(text)
}

// quoted returns the length of a text in quotes. Two quotes in a row do not end the text.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == text[0] && i+1 < len(text) && text[i+1] == text[0]:
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return len(text)
}

func span(text string, of func(byte) bool) int {
	for i := range len(text) {
		if !of(text[i]) {
			return i
		}
	}
	return len(text)
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c == '@' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// withoutPrefix removes tokens at the end that belong to the next value: a sign, or the character set that
// the driver writes before bytes.
func withoutPrefix(tokens []string) []string {
	n := len(tokens)
	if n > 0 && tokens[n-1] == "_binary" {
		return tokens[:n-1]
	}
	if n > 1 && tokens[n-1] == "-" && !isWord(tokens[n-2][0]) && tokens[n-2] != ")" && tokens[n-2] != "?" && tokens[n-2][0] != '`' {
		return tokens[:n-1]
	}
	return tokens
}

// inValues reports whether the next token may be a value in a list of values.
func inValues(tokens []string) bool {
	n := len(tokens)
	return n > 0 && tokens[n-1] == "(" || n > 1 && tokens[n-1] == "," && tokens[n-2] == "?"
}
