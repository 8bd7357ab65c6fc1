package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSmallRun measures alds for a short time on SQLite, without a peer. It checks that the
// answers of alds agree with the data and that every row is printed.
func TestSmallRun(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-peer", "PocketBase", "-pocketbase", "", "-stories", "4000", "-rounds", "1", "-window", "1ms", "-bulk", "10", "-import", "10"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, w := range works(options{bulk: 10, imported: 10}) {
		name := strings.Replace(w.name, "many", "10", 1)
		if n := strings.Count(out.String(), "| "+name+" |"); n != len(w.clients) {
			t.Errorf("%d rows %q in\n%s", n, name, out.String())
		}
	}
	if n := strings.Count(out.String(), "| not installed |"); n != 19 {
		t.Errorf("%d rows without a peer, want 19, in\n%s", n, out.String())
	}
}

func TestData(t *testing.T) {
	d := newData(20_000)
	if again := newData(20_000); again.stories[777].name != d.stories[777].name || len(d.stories) != 20_000 {
		t.Errorf("%d stories, the 777th %q, then %q", len(d.stories), d.stories[777].name, again.stories[777].name)
	}
	owned, accepted, moved := make([]int, members), 0, 0
	positions := map[int]bool{}
	for i, s := range d.stories {
		for _, m := range s.owners {
			owned[m]++
		}
		if i < len(d.stories)/2 && statuses[s.status] == "Accepted" {
			accepted++
		}
		if positions[s.position] {
			t.Fatalf("story %d stands where another one is", i)
		}
		positions[s.position] = true
		if s.before < 0 {
			continue
		}
		moved++
		if before := d.stories[s.before]; before.project != s.project || before.before >= 0 || s.before >= i/inOneAsk*inOneAsk {
			t.Fatalf("story %d is moved before %d, which is moved itself, elsewhere or not there yet", i, s.before)
		}
	}
	if moved < 300 {
		t.Errorf("%d stories are moved", moved)
	}
	if accepted < 8000 || accepted > 9000 {
		t.Errorf("%d of the older 10000 are accepted", accepted)
	}
	slices.Sort(owned)
	if owned[0] > owned[members/2]/2 || owned[members-1] < 2*owned[members/2] {
		t.Errorf("the least owns %d, the median %d, the most %d", owned[0], owned[members/2], owned[members-1])
	}
	first, last := make([]int, len(d.projects)), make([]int, len(d.projects))
	for p, list := range d.of[:d.inbox()] {
		first[p], last[p] = slices.Min(list), slices.Max(list)
		if p > 0 && (first[p] <= first[p-1] || first[p] > last[p-1]) {
			t.Errorf("project %d begins at %d, the one before it at %d until %d", p, first[p], first[p-1], last[p-1])
		}
	}
	if n := len(usual(d)); n != 20 {
		t.Errorf("%d projects of the usual size, want 20", n)
	}
	if n := len(pages(d, nil)); n < 50 {
		t.Errorf("%d pages are full", n)
	}
}

// inForm has functions that return the body with which one product answers.
type inForm struct {
	product product
	page    func(rows []row) string
	count   func(n int) string
	sums    func(byStatus map[string]float64) string
	made    func(ids ...string) string
	set     func(id string, estimate int) string
}

// listed converts each row to a JSON object with the function one.
func listed(rows []row, one func(row) object) []object {
	var all []object
	for _, r := range rows {
		all = append(all, one(r))
	}
	return all
}

func named(name string) object { return object{"name": name} }

// names returns the names of a row's owners.
func names(r row) []string {
	if r.owners == "" {
		return nil
	}
	return strings.Split(r.owners, ", ")
}

func aldsForm(d *data, ids []string) inForm {
	return inForm{
		product: &alds{data: d, stories: ids},
		page: func(rows []row) string {
			return encode([]any{listed(rows, func(r row) object {
				return object{"_oid": r.id, "Name": r.name, "Scope.Name": r.project, "Status.Name": r.status, "Owners.Name": names(r), "Estimate": fmt.Sprint(r.estimate)}
			})})
		},
		count: func(n int) string { return encode([]any{[]object{{"_oid": "Scope:1", storyCount: strconv.Itoa(n)}}}) },
		sums: func(byStatus map[string]float64) string {
			var rows []object
			for _, name := range statuses {
				rows = append(rows, object{"_oid": "StoryStatus:1", "Name": name, sumToken("Scope:1"): fmt.Sprint(byStatus[name])})
			}
			return encode([]any{rows})
		},
		made: func(ids ...string) string { return encode(object{"assetsCreated": object{"oidTokens": ids}}) },
		set: func(id string, _ int) string {
			return encode(object{"assetsModified": object{"oidTokens": []string{id}}})
		},
	}
}

func pocketBaseForm(d *data, ids []string) inForm {
	return inForm{
		product: &pocketBase{data: d, stories: ids},
		page: func(rows []row) string {
			return encode(object{"items": listed(rows, func(r row) object {
				owners := []object{}
				for _, name := range names(r) {
					owners = append(owners, named(name))
				}
				return object{"id": r.id, "name": r.name, "estimate": r.estimate, "expand": object{"project": named(r.project), "status": named(r.status), "owners": owners}}
			})})
		},
		count: func(n int) string { return encode(object{"totalItems": n, "items": []object{{"id": "x"}}}) },
		sums: func(byStatus map[string]float64) string {
			var rows []object
			for name, sum := range byStatus {
				rows = append(rows, object{"total": sum, "expand": object{"status": named(name)}})
			}
			return encode(object{"items": rows})
		},
		made: func(ids ...string) string {
			var all []object
			for _, id := range ids {
				all = append(all, object{"status": 200, "body": object{"id": id}})
			}
			return encode(all)
		},
		set: func(id string, estimate int) string { return encode(object{"id": id, "estimate": estimate}) },
	}
}

func directusForm(d *data, ids []string) inForm {
	return inForm{
		product: &directus{data: d, stories: ids},
		page: func(rows []row) string {
			return encode(object{"data": listed(rows, func(r row) object {
				owners := []object{}
				for _, name := range names(r) {
					owners = append(owners, object{"member_id": named(name)})
				}
				n, _ := strconv.Atoi(r.id)
				return object{"id": n, "name": r.name, "estimate": r.estimate, "project": named(r.project), "status": named(r.status), "owners": owners}
			})})
		},
		count: func(n int) string { return encode(object{"data": []object{{"count": n}}}) },
		sums: func(byStatus map[string]float64) string {
			var rows []object
			for name, sum := range byStatus {
				rows = append(rows, object{"status": 1 + slices.Index(statuses, name), "sum": object{"estimate": sum}})
			}
			return encode(object{"data": rows})
		},
		made: func(ids ...string) string {
			var all []object
			for _, id := range ids {
				n, _ := strconv.Atoi(id)
				all = append(all, object{"id": n})
			}
			return encode(object{"data": all})
		},
		set: func(id string, estimate int) string {
			n, _ := strconv.Atoi(id)
			return encode(object{"data": object{"id": n, "estimate": estimate}})
		},
	}
}

// smallSides calls the function each for every product. The arguments are a side that has the stories
// of d, and the functions that return the product's answers.
func smallSides(d *data, each func(s *side, f inForm)) {
	ids := make([]string, len(d.stories))
	for i := range ids {
		ids[i] = strconv.Itoa(1 + i)
	}
	for _, form := range []func(*data, []string) inForm{aldsForm, pocketBaseForm, directusForm} {
		f := form(d, ids)
		each(newSide(f.product, d), f)
	}
}

// TestWrongReads checks that every kind of wrong answer to a read is detected.
func TestWrongReads(t *testing.T) {
	d := newData(4000)
	smallSides(d, func(s *side, f inForm) {
		q := pages(d, nil)[0]
		right := d.expected(q, s.ids()).rows
		check := func(what string, q question, body string, good bool) {
			t.Helper()
			if err := s.check(q, []byte(body)); (err == nil) != good {
				t.Errorf("%s, %s: %v", s.name(), what, err)
			}
		}
		check("the right page", q, f.page(right), true)
		check("the same again", q, f.page(right), true)
		check("one row too few", q, f.page(right[1:]), false)
		for what, spoil := range map[string]func(rows []row){
			"two rows in the other order": func(rows []row) { rows[3], rows[4] = rows[4], rows[3] },
			"another id":                  func(rows []row) { rows[49].id = "4000" },
			"another name":                func(rows []row) { rows[7].name += "!" },
			"another project":             func(rows []row) { rows[8].project = "Inbox" },
			"another status":              func(rows []row) { rows[9].status = "Unknown" },
			"another owner":               func(rows []row) { rows[10].owners = "Nobody" },
			"another estimate":            func(rows []row) { rows[11].estimate++ },
		} {
			rows := slices.Clone(right)
			spoil(rows)
			check(what, q, f.page(rows), false)
		}
		q = counts(d, nil)[0]
		n := len(d.of[q.project])
		check("the right count", q, f.count(n), true)
		check("another count", q, f.count(n+1), false)
		q = totals(d, nil)[0]
		sums := d.expected(q, s.ids()).sums
		check("the right sums", q, f.sums(sums), true)
		sums["Done"]++
		check("another sum", q, f.sums(sums), false)
		check("no JSON", q, "<html>", false)
	})
}

// TestWrongWrites checks that wrong answers to writes are detected.
func TestWrongWrites(t *testing.T) {
	d := newData(4000)
	smallSides(d, func(s *side, f inForm) {
		check := func(what string, err error, good bool) {
			t.Helper()
			if (err == nil) != good {
				t.Errorf("%s, %s: %v", s.name(), what, err)
			}
		}
		check("two stories", s.wasMade(0, 2, []byte(f.made("5001", "5002"))), true)
		check("an id that was given", s.wasMade(2, 2, []byte(f.made("5003", "5002"))), false)
		check("one of two", s.wasMade(4, 2, []byte(f.made("5004"))), false)
		check("an update", s.wasSet("17", 8, []byte(f.set("17", 8))), true)
		check("an update of another", s.wasSet("18", 8, []byte(f.set("17", 8))), false)
		if s.name() != "alds" { // alds answers without values; the bench reads them back later
			check("another value", s.wasSet("17", 8, []byte(f.set("17", 7))), false)
		}
	})
}
