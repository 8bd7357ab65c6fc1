package ui

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Piece is a part of a text beside its earlier state.
type Piece struct {
	Text           string
	Added, Removed bool // neither: both have it
}

// maxCompared is how many bytes two texts may have for their difference to be looked
// for; larger ones are shown as removed and added whole.
const maxCompared = 64 << 10

// leastCommon is the part of the words of a text that another one must share, one in so
// many, for their difference to be shown within; else both are shown whole.
const leastCommon = 3

// The smallest difference of short texts is looked for whatever it takes, that of others
// for a time.
const (
	searchedToTheEnd = 1 << 10 // bytes of both
	maxSearch        = 20 * time.Millisecond
)

// maxDifferences is how long a page looks for differences.
const maxDifferences = 500 * time.Millisecond

// Differences compares the texts of one page, for a time; what comes later is shown as
// removed and added whole. The zero value has all of its time.
type Differences struct{ spent time.Duration }

// Of returns what the later of two texts says otherwise, word by word, or both one after
// the other where they share little.
func (d *Differences) Of(before, after string) []Piece {
	if d.spent > maxDifferences {
		return difference(before, after, 0)
	}
	begin := time.Now()
	defer func() { d.spent += time.Since(begin) }()
	return difference(before, after, maxCompared)
}

// difference compares texts that have at most some bytes together.
func difference(before, after string, most int) []Piece {
	switch {
	case before == after:
		return unchanged(after)
	case before == "":
		return []Piece{{Text: after, Added: true}}
	case after == "":
		return []Piece{{Text: before, Removed: true}}
	case len(before)+len(after) > most:
		return rewritten(before, after)
	}
	differing, ok := wordDifference(before, after)
	if !ok {
		return rewritten(before, after)
	}
	pieces, common := joined(differing), 0
	for _, p := range pieces {
		if !p.Added && !p.Removed {
			common += lettersOf(p.Text)
		}
	}
	if common*leastCommon < max(lettersOf(before), lettersOf(after)) {
		return rewritten(before, after)
	}
	return pieces
}

// unchanged is a text that stayed as it was.
func unchanged(text string) []Piece {
	if text == "" {
		return nil
	}
	return []Piece{{Text: text}}
}

// rewritten are two texts one below the other.
func rewritten(before, after string) []Piece {
	return []Piece{{Text: before, Removed: true}, {Text: "\n"}, {Text: after, Added: true}}
}

// maxWords is how many words two texts may have together to be compared: what the library
// does before it looks at the time grows with their square.
const maxWords = 16 << 10

// wordDifference compares texts by their words: each different one is a character of
// texts that are compared in the place of these. ok is false for texts of too many words.
func wordDifference(before, after string) (pieces []Piece, ok bool) {
	var words []string
	numbers := map[string]rune{}
	encode := func(text string) (runes []rune) {
		for text != "" {
			word := text[:wordAt(text)]
			r, known := numbers[word]
			if !known {
				words = append(words, word)
				r = runeOf(len(words) - 1)
				numbers[word] = r
			}
			runes, text = append(runes, r), text[len(word):]
		}
		return runes
	}
	was, is := encode(before), encode(after)
	if len(was)+len(is) > maxWords {
		return nil, false
	}
	d := diffmatchpatch.New()
	if d.DiffTimeout = 0; len(before)+len(after) > searchedToTheEnd {
		d.DiffTimeout = maxSearch
	}
	for _, one := range d.DiffMainRunes(was, is, false) {
		var text strings.Builder
		for _, r := range one.Text {
			text.WriteString(words[numberOf(r)])
		}
		pieces = append(pieces, Piece{Text: text.String(), Added: one.Type == diffmatchpatch.DiffInsert, Removed: one.Type == diffmatchpatch.DiffDelete})
	}
	return pieces, true
}

// Surrogates are no characters: numbers of words leave them out.
const (
	firstSurrogate = 0xd800
	surrogates     = 0x800
)

// runeOf is the character that stands for a word.
func runeOf(number int) rune {
	if number++; number >= firstSurrogate {
		number += surrogates
	}
	return rune(number) //nolint:gosec // there are at most maxCompared words
}

// numberOf is the number of the word that a character stands for.
func numberOf(r rune) int {
	if r >= firstSurrogate {
		r -= surrogates
	}
	return int(r) - 1
}

// joined puts what texts share between two differences into these where it is no more
// than they are, or no word: so differences read as phrases.
func joined(pieces []Piece) []Piece {
	var all []Piece
	var removed, added string
	for i, p := range pieces {
		switch {
		case p.Removed:
			removed += p.Text
		case p.Added:
			added += p.Text
		case removed+added != "" && i+1 < len(pieces) && (lettersOf(p.Text) == 0 || len(p.Text) <= min(max(len(removed), len(added)), nextSize(pieces[i+1:]))):
			removed, added = removed+p.Text, added+p.Text
		default:
			all = append(appendEdit(all, removed, added), p)
			removed, added = "", ""
		}
	}
	return appendEdit(all, removed, added)
}

// nextSize is how long the difference is that pieces begin with.
func nextSize(pieces []Piece) (size int) {
	for _, p := range pieces {
		if !p.Added && !p.Removed {
			break
		}
		size = max(size, len(p.Text))
	}
	return size
}

func appendEdit(pieces []Piece, removed, added string) []Piece {
	if removed != "" {
		pieces = append(pieces, Piece{Text: removed, Removed: true})
	}
	if added != "" {
		pieces = append(pieces, Piece{Text: added, Added: true})
	}
	return pieces
}

// tagForm is a tag of HTML.
var tagForm = regexp.MustCompile(`^</?[A-Za-z][^<>]{0,1000}>`)

// wordAt returns how many bytes of a text, which is not empty, are the word, the tag of
// HTML or the character that it begins with. What is written without spaces between words
// is compared by characters.
func wordAt(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	if tag := tagForm.FindString(text); tag != "" {
		return len(tag)
	}
	if !inWord(r) {
		return n
	}
	if end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) }); end > 0 {
		return end
	}
	return len(text)
}

func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == '_') &&
		!unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// lettersOf counts the bytes of the words of a text.
func lettersOf(text string) (count int) {
	for text != "" {
		n := wordAt(text)
		if r, _ := utf8.DecodeRuneInString(text); unicode.IsLetter(r) || unicode.IsDigit(r) {
			count += n
		}
		text = text[n:]
	}
	return count
}
