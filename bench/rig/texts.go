package rig

import (
	"encoding/csv"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
)

// Text is the name and the description of a story.
type Text struct{ Name, Description string }

// Texts reads texts from a CSV file with the columns title and description. Without a file, it
// returns generated texts. The list can contain duplicates.
func Texts(file string) ([]Text, error) {
	if file == "" {
		return worded(), nil
	}
	f, err := os.Open(file) //nolint:gosec // a flag of a bench
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r := csv.NewReader(f)
	head, err := r.Read()
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, name := range head {
		at[name] = i
	}
	var all []Text
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Text{row[at["title"]], row[at["description"]]})
	}
}

// worded returns generated texts with the lengths of real backlogs: names of 55 bytes on
// average, descriptions with a median of 250 bytes and a mean of 570.
func worded() []Text {
	words := strings.Fields("as a member I want to know what was planned changed and done in a project so that all of us can decide")
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	long := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		return strings.TrimSpace(b.String())
	}
	all := make([]Text, 2000)
	for i := range all {
		all[i] = Text{long(35 + r.IntN(40)), long(int(math.Exp(math.Log(250) + 1.28*r.NormFloat64())))}
	}
	return all
}
