package ui

import (
	"time"

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

// The smallest difference of short texts is looked for whatever it takes, that of others
// for a time.
const (
	searchedToTheEnd = 1 << 10 // bytes of both
	maxSearch        = 20 * time.Millisecond
)

// Difference returns what the later of two texts says otherwise, in pieces that people
// can read.
func Difference(before, after string) []Piece {
	switch {
	case before == after:
		return unchanged(after)
	case before == "":
		return []Piece{{Text: after, Added: true}}
	case after == "":
		return []Piece{{Text: before, Removed: true}}
	case len(before)+len(after) > maxCompared:
		return []Piece{{Text: before, Removed: true}, {Text: after, Added: true}}
	}
	d := diffmatchpatch.New()
	if d.DiffTimeout = 0; len(before)+len(after) > searchedToTheEnd {
		d.DiffTimeout = maxSearch
	}
	var pieces []Piece
	for _, one := range d.DiffCleanupSemantic(d.DiffMain(before, after, false)) {
		pieces = append(pieces, Piece{Text: one.Text, Added: one.Type == diffmatchpatch.DiffInsert, Removed: one.Type == diffmatchpatch.DiffDelete})
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
