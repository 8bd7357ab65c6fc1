package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kind says what a request reads or writes.
type kind int

const (
	point    kind = iota // one story with the names of its project, status and owners
	page                 // 50 stories of a project and status by position, with the same names
	count                // number of stories in a project
	begins               // 50 stories of a project by position whose name begins with a text
	contains             // 50 stories of a project by position whose name contains a text
	sums                 // sums of the estimates in a project by status
	create               // create one story
	update               // change one estimate
	bulk                 // create many stories in one request
	imports              // import a file of stories
)

// pageSize is the number of rows on a page.
const pageSize = 50

// question is a read. Not all kinds use project, status and text.
type question struct {
	kind            kind
	id              string // of the story, for point
	project, status int
	text            string
}

// row is a story in an answer. Rows that are found by text have only id and name.
type row struct {
	id, name, project, status string
	owners                    string // names in alphabetical order, separated by commas
	estimate                  float64
}

// answer is the content of an answer, in a form that is the same for all sides.
type answer struct {
	rows  []row
	count int
	sums  map[string]float64 // key: name of a status; sums of 0 are left out
}

// addSum adds the sum of a status, given as JSON, unless it is 0.
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

// differs returns an error that describes the first difference, or nil.
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

// expected returns the right answer to a question, computed from the data. ids are the ids that
// the side has given to the stories, in the order of d.stories.
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

// row returns a story as a full row.
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
