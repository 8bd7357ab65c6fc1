package console

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of an excerpt.
const (
	linesAround = 3   // of a place, before and after it
	maxPlaces   = 20  // that are marked
	maxLine     = 600 // bytes of a line that are shown, around the place
)

// textLine is one of a text, with its number.
type textLine struct {
	Number int
	Parts  []markedText
	After  bool // lines before it are left out
}

// markedText is a part of a line.
type markedText struct {
	Text string
	Mark bool
}

// excerpt returns the lines of a text around some places, which are byte offsets, with
// what stands at each marked.
func excerpt(text string, places []int) []textLine {
	places = slices.Clone(places)
	slices.Sort(places)
	places = slices.Compact(places)
	if len(places) > maxPlaces {
		places = places[:maxPlaces]
	}
	var shown []textLine
	near := linesNear(text, places)
	for number, start := 1, 0; start <= len(text) && len(near) > 0; number++ {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		if near[number] {
			after := number > 1 && (len(shown) == 0 || shown[len(shown)-1].Number != number-1)
			shown = append(shown, textLine{Number: number, Parts: markLine(text[start:end], start, places, end == len(text)), After: after})
		}
		start = end + 1
	}
	return shown
}

// linesNear returns the numbers of the lines around ascending places.
func linesNear(text string, places []int) map[int]bool {
	near := map[int]bool{}
	number, done := 1, 0
	for _, at := range places {
		at = min(max(at, done), len(text))
		number += strings.Count(text[done:at], "\n")
		done = at
		for n := number - linesAround; n <= number+linesAround; n++ {
			near[n] = true
		}
	}
	return near
}

// markLine splits a line that begins at start into what is marked and what is not.
func markLine(text string, start int, places []int, last bool) []markedText {
	var parts []markedText
	done := 0
	for _, at := range places {
		at -= start
		if at < done || at > len(text) && !last {
			continue
		}
		at = min(at, len(text))
		if word := strings.TrimLeft(text[at:], " \t"); word != "" {
			at = len(text) - len(word) // of a line of YAML, which may begin with spaces
		}
		end := at + wordLength(text[at:])
		parts = append(parts, markedText{Text: clipLeft(text[done:at])}, markedText{Text: orSpace(text[at:end]), Mark: true})
		done = end
	}
	if len(parts) == 0 || done < len(text) {
		parts = append(parts, markedText{Text: clipRight(text[done:])})
	}
	return parts
}

// orSpace makes something to underline at the end of a line.
func orSpace(text string) string {
	if text == "" {
		return " "
	}
	return text
}

// wordLength returns how many bytes of a text are the word, or else the character, that
// it begins with.
func wordLength(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\",;()[]{}='<>|&", r) })
	switch {
	case n < 0:
		return min(len(text), maxLine)
	case n > 0:
		return min(n, maxLine)
	}
	_, n = utf8.DecodeRuneInString(text)
	return n
}

func clipLeft(text string) string {
	if len(text) <= maxLine {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-maxLine:], "")
}

func clipRight(text string) string {
	if len(text) <= maxLine {
		return text
	}
	return strings.ToValidUTF8(text[:maxLine], "") + "…"
}
