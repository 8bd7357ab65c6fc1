package torture

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// left is what a request has stored: the numbers of its audit rows and of its versions of assets.
type left struct{ audits, versions int }

// whole maps a kind of request to the number of versions that a complete request stores.
var whole = map[string]int{create: 3 * perBlock, update: perBlock, remove: 3 * perBlock, atomic: 4 * perBlock, common: 1}

// judge compares the answer to every request with what the request has stored. It also compares what
// clients read with the requests that were executed.
func (l *load) judge() {
	s := l.s
	s.t.Helper()
	of := map[string]left{}
	for _, row := range s.links(`SELECT comment, CONCAT(COUNT(DISTINCT a.id), ' ', COUNT(v.id)) FROM audit a
		LEFT JOIN asset_version v ON v.audit_id = a.id WHERE comment IS NOT NULL GROUP BY comment`) {
		var one left
		_, _ = fmt.Sscan(row[1], &one.audits, &one.versions)
		of[row[0]] = one
	}
	tally, wrong := map[string]int{}, []string(nil)
	for _, a := range l.authors {
		for _, r := range a.requests {
			what := "not there"
			if of[r.mark].versions != 0 {
				what = "there"
			}
			tally[fmt.Sprintf("%s and %s", r.said(), what)]++
			if text := r.weigh(of[r.mark]); text != "" {
				wrong = append(wrong, fmt.Sprintf("%s (%s): %s; %d: %.300s", r.mark, r.kind, text, r.last.status, r.last.text))
			}
		}
		wrong = append(wrong, a.compare(of)...)
	}
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		s.t.Logf("%5d requests %s", tally[what], what)
	}
	s.wrong(len(wrong), "requests are not what their answers say, such as\n%s", strings.Join(wrong[:min(shown, len(wrong))], "\n"))
}

// said describes what the answer says about the execution of the request.
func (r *request) said() string {
	switch {
	case r.last.unknown():
		return "with an unknown outcome"
	case r.last.status != 200:
		return "refused"
	case r.kind == atomicFails:
		return "answered 200 with a failed command"
	}
	return "answered 200"
}

// weigh describes what is wrong with the rows that a request has stored, or returns "" if they match the
// answer.
func (r *request) weigh(l left) string {
	failures, want := 0, whole[r.kind]
	if r.kind == atomicFails {
		failures = 1
	}
	switch {
	case l.audits > 1:
		return fmt.Sprintf("done %d times", l.audits)
	case l.versions != 0 && l.versions != want:
		return fmt.Sprintf("%d of %d versions are there", l.versions, want)
	case r.last.unknown():
		return ""
	case r.last.status != 200 && l.versions != 0:
		return "refused and there"
	case r.last.status == 200 && l.versions != want:
		return "answered 200 and not there"
	case r.last.status == 200 && r.last.bulk.CommandFailures.Count != failures:
		return fmt.Sprintf("%d commands failed", r.last.bulk.CommandFailures.Count)
	case r.last.status != 200 && r.last.status < 500 && !r.last.later():
		return "refused for good"
	}
	return ""
}

// seen is a story as a client reads it.
type seen struct {
	Reference, Estimate string
	Children            []struct{}
}

// compare reads the stories of an author through each api. It describes how they differ from the result of
// the executed requests.
func (a *author) compare(of map[string]left) (wrong []string) {
	a.s.t.Helper()
	rows := map[string][]seen{}
	for i := range apis {
		clear(rows)
		for _, row := range read[seen](a.s, i, object{"from": "Story", "where": object{"Scope": a.project}, "select": []string{"Reference", "Estimate", "Children"}}) {
			rows[row.Reference] = append(rows[row.Reference], row)
		}
		for _, b := range a.blocks {
			wrong = append(wrong, b.compare(rows, of)...)
		}
		for mark, more := range rows {
			wrong = append(wrong, fmt.Sprintf("there are %d stories of %q, which nobody made", len(more), mark))
		}
	}
	return wrong
}

// compare describes the stories of the block that are wrong, and removes all stories of the block from
// rows.
func (b *block) compare(rows map[string][]seen, of map[string]left) (wrong []string) {
	stories, value := 0, 0
	look := func(mark string, stories, value int) {
		if text := differs(rows[mark], stories, value); text != "" {
			wrong = append(wrong, "of "+mark+" "+text)
		}
		delete(rows, mark)
	}
	for _, r := range b.requests {
		switch {
		case of[r.mark].versions == 0:
			continue
		case r.kind == create:
			stories = perBlock
		case r.kind == remove:
			stories = 0
		case r.kind == atomic:
			look(r.mark, perBlock, r.value)
		}
		value = r.value
	}
	look(b.mark, stories, value)
	return wrong
}

func differs(rows []seen, stories, value int) string {
	bad := 0
	for _, row := range rows {
		if f, err := strconv.ParseFloat(row.Estimate, 64); len(row.Children) != 2 || err != nil || f != float64(value) {
			bad++
		}
	}
	if len(rows) == stories && bad == 0 {
		return ""
	}
	return fmt.Sprintf("there are %d stories, %d of them with other values; want %d with Estimate %d", len(rows), bad, stories, value)
}
