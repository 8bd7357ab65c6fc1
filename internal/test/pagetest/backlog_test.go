package pagetest

import (
	"compress/gzip"
	"encoding/csv"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var backlogFile = flag.String("pagetest.backlog", "", "the backlog of TestNumbersOfPastDays, gzipped CSV as bench/load reads it, in the place of a made-up one; a relative path begins at internal/test/pagetest")

// story is an item of a backlog.
type story struct {
	project, key, title, description string
	points                           float64
}

// readBacklog reads a file with the columns project, key, title, description and points.
func readBacklog(t *testing.T, name string) []story {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(unzipped).ReadAll()
	if err != nil || len(rows) == 0 || !slices.Equal(rows[0], []string{"project", "key", "title", "description", "points"}) {
		t.Fatalf("%s is no backlog: %v", name, err)
	}
	var list []story
	for _, row := range rows[1:] {
		points, err := strconv.ParseFloat(row[4], 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, story{row[0], row[1], row[2], row[3], points})
	}
	return list
}

// makeBacklog generates a backlog with projects of different sizes. Most of the estimates are small, and a
// few are very large.
func makeBacklog(r *rand.Rand) (list []story) {
	points := []float64{1, 1, 1, 2, 2, 2, 3, 3, 5, 5, 8, 13, 0.5, 40, 100}
	for _, project := range []struct {
		name  string
		items int
	}{{"Web shop", 180}, {"Payments", 110}, {"Mobile app", 70}, {"Back office", 40}} {
		for i := range project.items {
			list = append(list, story{
				project: project.name, key: fmt.Sprintf("%.3s-%d", strings.ToUpper(project.name), i+1),
				title:       pick(r, []string{"Pay by card", "The receipt is empty", "الدفع بالبطاقة 支付 💳", scripts}),
				description: pick(r, []string{"", "<p>As a customer,\r\nI <b>pay</b>.</p>", strings.Repeat(longest+"\n", 20)}),
				points:      pick(r, points),
			})
		}
	}
	return list
}

// projectsOf returns the names of the projects in a backlog, in the order in which they first appear.
func projectsOf(stories []story) (names []string) {
	for _, s := range stories {
		if !slices.Contains(names, s.project) {
			names = append(names, s.project)
		}
	}
	return names
}

// TestBacklogFile checks that readBacklog returns exactly the values in a file.
func TestBacklogFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "backlog.csv.gz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(f)
	fmt.Fprint(zipped, "project,key,title,description,points\nshop,SHOP-1,\"Pay, by \"\"card\"\"\",\"Two\nlines\",3\nbank,BANK-1,Refund,,0.5\n")
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := []story{{"shop", "SHOP-1", `Pay, by "card"`, "Two\nlines", 3}, {"bank", "BANK-1", "Refund", "", 0.5}}
	got := readBacklog(t, name)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(story{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"shop", "bank"}, projectsOf(got)); diff != "" {
		t.Error(diff)
	}
}
