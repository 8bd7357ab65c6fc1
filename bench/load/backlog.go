package main

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"unicode/utf8"
)

// story is one row of the backlog.
type story struct {
	project, key, title, description string
	points                           float64
}

// columns is the header line of the backlog file.
var columns = []string{"project", "key", "title", "description", "points"}

// readBacklog reads the whole file. Text that is not UTF-8 is an error, because JSON would
// change it.
func readBacklog(name string) ([]story, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := csv.NewReader(unzipped)
	header, err := r.Read()
	if err != nil || !slices.Equal(header, columns) {
		return nil, fmt.Errorf("%s: want the columns %v, got %v (%w)", name, columns, header, err)
	}
	var stories []story
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return stories, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s, err := newStory(row)
		if err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		stories = append(stories, s)
	}
}

func newStory(row []string) (story, error) {
	for _, field := range row {
		if !utf8.ValidString(field) {
			return story{}, fmt.Errorf("%q is not UTF-8", field)
		}
	}
	points, err := strconv.ParseFloat(row[4], 64)
	if err != nil {
		return story{}, err
	}
	return story{project: row[0], key: row[1], title: row[2], description: row[3], points: points}, nil
}

// batch has the stories of one request. They all belong to one project.
type batch struct {
	number  int // from 1
	project string
	stories []story
}

// overhead is the size in bytes of a create command without the texts of its story.
const overhead = 160

// split divides the backlog into requests. It keeps the order of projects and rows in the
// file, so that the same file gives the same requests.
func split(stories []story, perRequest, maxBytes int) []batch {
	var order []string
	byProject := map[string][]story{}
	for _, s := range stories {
		if byProject[s.project] == nil {
			order = append(order, s.project)
		}
		byProject[s.project] = append(byProject[s.project], s)
	}
	var batches []batch
	for _, project := range order {
		rest := byProject[project]
		for len(rest) > 0 {
			n, size := 0, 0
			for n < len(rest) && n < perRequest {
				size += overhead + len(rest[n].key) + len(rest[n].title) + len(rest[n].description)
				if n > 0 && size > maxBytes {
					break
				}
				n++
			}
			batches = append(batches, batch{number: len(batches) + 1, project: project, stories: rest[:n]})
			rest = rest[n:]
		}
	}
	return batches
}
