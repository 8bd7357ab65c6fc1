package ui

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Piece is a part of the comparison of a text with its earlier version.
type Piece struct {
	Text           string
	Added, Removed bool // neither: both versions contain it
}

// maxCompared limits the bytes of two texts that are compared. Longer texts are shown as
// removed and added as a whole.
const maxCompared = 64 << 10

// leastCommon is a divisor. A difference is shown word by word only if the texts share at
// least 1/leastCommon of the letters of the longer text. Otherwise both texts are shown as a
// whole.
const leastCommon = 3

// The search for the smallest difference has no time limit for short texts. For longer texts
// it stops after maxSearch with a larger difference.
const (
	searchedToTheEnd = 1 << 10 // bytes of both texts together
	maxSearch        = 20 * time.Millisecond
)

// maxDifferences limits the time that one page spends on comparing texts.
const maxDifferences = 500 * time.Millisecond

// Differences compares the texts of one page and limits the total time. After that time, texts
// are shown as removed and added as a whole. The zero value has spent no time.
type Differences struct{ spent time.Duration }

// Of compares two texts word by word. It returns both as a whole if they share little.
func (d *Differences) Of(before, after string) []Piece {
	if d.spent > maxDifferences {
		return difference(before, after, 0)
	}
	begin := time.Now()
	defer func() { d.spent += time.Since(begin) }()
	return difference(before, after, maxCompared)
}

// difference compares two texts. If the bytes of both texts together exceed the limit most, it
// returns both texts as a whole.
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

// unchanged returns the pieces of a text that has not changed.
func unchanged(text string) []Piece {
	if text == "" {
		return nil
	}
	return []Piece{{Text: text}}
}

// rewritten returns both texts as a whole, one below the other.
func rewritten(before, after string) []Piece {
	return []Piece{{Text: before, Removed: true}, {Text: "\n"}, {Text: after, Added: true}}
}

// maxWords limits the words of two texts that are compared. The library does work before it
// first checks its timeout, and this work grows with the square of the words.
const maxWords = 16 << 10

// wordDifference compares two texts word by word. It encodes each distinct word as one
// character, because the library compares characters. ok is false if the texts have too many
// words.
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

// Surrogates are not valid characters, so the encoding of words skips them.
const (
	firstSurrogate = 0xd800
	surrogates     = 0x800
)

// runeOf returns the character that encodes a word.
func runeOf(number int) rune {
	if number++; number >= firstSurrogate {
		number += surrogates
	}
	return rune(number) //nolint:gosec // there are at most maxCompared words
}

// numberOf returns the number of the word that a character encodes. It inverts runeOf.
func numberOf(r rune) int {
	if r >= firstSurrogate {
		r -= surrogates
	}
	return int(r) - 1
}

// joined merges adjacent differences, so that they read as phrases. Two differences are merged with
// the text between them if this text has no word, or is not longer than the shorter one of the two
// differences.
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

// nextSize returns the length in bytes of the difference at the start of pieces.
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

// tagForm matches an HTML tag.
var tagForm = regexp.MustCompile(`^</?[A-Za-z][^<>]{0,1000}>`)

// wordAt returns the length in bytes of the first unit of a text: an HTML tag, a word or one
// character. The text must not be empty. In writing systems without spaces between words, each
// character is a unit.
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

// lettersOf returns the total length in bytes of all words in a text, without tags and
// punctuation.
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
