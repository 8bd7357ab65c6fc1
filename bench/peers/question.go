package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kind is what is asked or done.
type kind int

const (
	point    kind = iota // one story with the names of project, status and owners
	page                 // 50 stories of a project and status by position, with the same names
	count                // of the stories of a project
	begins               // 50 stories of a project by position whose name begins with a text
	contains             // or has it somewhere
	sums                 // of the estimates in a project by status
	create               // one story
	update               // one estimate
	bulk                 // many creations in one request
	imports              // a file of stories
)

// pageSize is how many rows a page has.
const pageSize = 50

// question is a read. Project, status and text are used by the kinds that need them.
type question struct {
	kind            kind
	id              string // of the story, for point
	project, status int
	text            string
}

// row is a story as a side shows it. Rows that are found by text have no more than id
// and name.
type row struct {
	id, name, project, status string
	owners                    string // their names in the order of text, with commas
	estimate                  float64
}

// answer is what a question is answered, in a form that all sides share.
type answer struct {
	rows  []row
	count int
	sums  map[string]float64 // by status; those of 0 are left out
}

// addSum adds the sum of a status, as JSON has it, unless it is 0.
func (a *answer) addSum(status string, raw []byte) error {
	sum, err := number(raw)
	if sum == 0 || err != nil {
		return err
	}
	if a.sums == nil {
		a.sums = map[string]float64{}
	}
	a.sums[status] = sum
	return nil
}

// differs returns an error that says what is not as wanted, nil where all is.
func (a answer) differs(want answer) error {
	if a.count != want.count {
		return fmt.Errorf("counted %d, want %d", a.count, want.count)
	}
	if !maps.Equal(a.sums, want.sums) {
		return fmt.Errorf("sums are %v, want %v", a.sums, want.sums)
	}
	if len(a.rows) != len(want.rows) {
		return fmt.Errorf("%d rows, want %d", len(a.rows), len(want.rows))
	}
	for i := range a.rows {
		if a.rows[i] != want.rows[i] {
			return fmt.Errorf("row %d is %+v, want %+v", i, a.rows[i], want.rows[i])
		}
	}
	return nil
}

// expected is the right answer by the data alone. ids are those that the side gave to
// the stories.
func (d *data) expected(q question, ids []string) answer {
	var a answer
	for _, i := range d.of[q.project] {
		s := d.stories[i]
		switch q.kind {
		case point:
			if ids[i] == q.id {
				a.rows = append(a.rows, d.row(ids[i], s))
			}
		case page:
			if s.status == q.status && len(a.rows) < pageSize {
				a.rows = append(a.rows, d.row(ids[i], s))
			}
		case count:
			a.count++
		case begins:
			if strings.HasPrefix(s.name, q.text) && len(a.rows) < pageSize {
				a.rows = append(a.rows, row{id: ids[i], name: s.name})
			}
		case contains:
			if strings.Contains(s.name, q.text) && len(a.rows) < pageSize {
				a.rows = append(a.rows, row{id: ids[i], name: s.name})
			}
		case sums:
			if s.estimate > 0 {
				if a.sums == nil {
					a.sums = map[string]float64{}
				}
				a.sums[statuses[s.status]] += float64(s.estimate)
			}
		}
	}
	return a
}

// row is how a side shows a story in full.
func (d *data) row(id string, s story) row {
	var owners []string
	for _, m := range s.owners {
		owners = append(owners, d.members[m])
	}
	return row{id: id, name: s.name, project: d.projects[s.project], status: statuses[s.status], owners: joined(owners), estimate: float64(s.estimate)}
}

func joined(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}
