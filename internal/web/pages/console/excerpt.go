package console

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of an excerpt.
const (
	linesAround = 3   // lines shown before and after an error
	maxPlaces   = 20  // errors that are marked
	maxLine     = 600 // bytes of a line that are shown on each side of an error
)

// textLine is a line of a text with its number.
type textLine struct {
	Number int
	Parts  []markedText
	After  bool // lines between the previous shown line and this line are left out
}

// markedText is a part of a line.
type markedText struct {
	Text string
	Mark bool
}

// excerpt returns the lines around some byte offsets. The word at each offset is marked.
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

// linesNear returns the numbers of the lines around byte offsets. The offsets must ascend.
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

// markLine splits a line, which begins at the byte offset start, into marked and unmarked
// parts.
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
			at = len(text) - len(word) // skip the indentation of a YAML line
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

// orSpace returns a space for an empty text, so that the end of a line can be underlined.
func orSpace(text string) string {
	if text == "" {
		return " "
	}
	return text
}

// wordLength returns the bytes of the word at the start of a text, or of its first character.
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
