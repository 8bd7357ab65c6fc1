package main

import "strings"

// work is one row of the table.
type work struct {
	name    string
	kind    kind
	stories int // number of stories that one request creates
	clients []int
	goals   map[string]float64 // key: name of a peer; value: goal for the ratio of the request rates, alds to peer; default 1

	questions func(d *data, ids []string) []question
}

// variants is the maximum number of different questions of a row.
const variants = 200

// works returns the rows of the table. Reads come first, because they expect the loaded data
// without changes.
func works(o options) []work {
	both := []int{1, 16}
	return []work{
		{name: "one story with the names of project, status and owners", kind: point, clients: both, questions: points},
		{name: "50 stories of a project and status by rank, with the same names", kind: page, clients: both, questions: pages, goals: map[string]float64{"Directus": 10, "PocketBase": 5}},
		{name: "count of the stories of a project", kind: count, clients: both, questions: counts, goals: map[string]float64{"Directus": 10, "PocketBase": 1.5}},
		{name: "50 stories of a project by rank whose name begins with a text", kind: begins, clients: both, questions: beginnings},
		{name: "50 stories of a project by rank whose name contains a text", kind: contains, clients: both, questions: parts},
		{name: "sums of the estimates in a project by status", kind: sums, clients: both, questions: totals},
		{name: "create of one story with an owner", kind: create, stories: 1, clients: both},
		{name: "update of one story", kind: update, clients: both},
		{name: "create of many stories with an owner in one request", kind: bulk, stories: o.bulk, clients: both},
		{name: "import of many stories in one request", kind: imports, stories: o.imported, clients: []int{1}},
	}
}

// selected returns the rows whose name contains text.
func selected(all []work, text string) []work {
	var some []work
	for _, w := range all {
		if strings.Contains(w.name, text) {
			some = append(some, w)
		}
	}
	return some
}

// points returns questions for stories of all ages.
func points(d *data, ids []string) []question {
	var all []question
	for k := range variants {
		i := k * 7919 % len(d.stories)
		all = append(all, question{kind: point, id: ids[i], project: d.stories[i].project})
	}
	return all
}

// pages returns a question for each project and status with enough stories for a page.
func pages(d *data, _ []string) []question {
	var all []question
	for p, list := range d.of {
		var held [4]int
		for _, i := range list {
			held[d.stories[i].status]++
		}
		for status, n := range held {
			if n >= pageSize && len(all) < variants {
				all = append(all, question{kind: page, project: p, status: status})
			}
		}
	}
	return all
}

// usual returns the projects of the most common size. Each of them has a fiftieth of all stories.
func usual(d *data) []int {
	var all []int
	for p, list := range d.of {
		if len(list) == len(d.stories)/50 {
			all = append(all, p)
		}
	}
	return all
}

func counts(d *data, _ []string) []question { return ofProjects(d, count) }

func totals(d *data, _ []string) []question { return ofProjects(d, sums) }

func ofProjects(d *data, k kind) []question {
	var all []question
	for _, p := range usual(d) {
		all = append(all, question{kind: k, project: p})
	}
	return all
}

// beginnings returns questions with the first words of existing names.
func beginnings(d *data, _ []string) []question {
	return byText(d, begins, func(name string) string {
		first, _, _ := strings.Cut(name, " of a")
		return first
	})
}

// parts returns questions with a word from the middle of existing names.
func parts(d *data, _ []string) []question {
	return byText(d, contains, func(name string) string { return strings.Fields(name)[2] })
}

func byText(d *data, k kind, part func(name string) string) []question {
	projects := usual(d)
	all := make([]question, variants)
	for n := range all {
		p := projects[n%len(projects)]
		name := d.stories[d.of[p][n*37%len(d.of[p])]].name
		all[n] = question{kind: k, project: p, text: part(name)}
	}
	return all
}
