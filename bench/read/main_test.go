package main

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestSmallRun measures for a short time. It checks that both sides give the same answers and
// that every row is printed.
func TestSmallRun(t *testing.T) {
	u, err := url.Parse(testdb.URL(t, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = ""
	var out bytes.Buffer
	args := []string{"-mysql", u.String(), "-redis", testdb.Redis(t), "-assets", "20000", "-versions", "2", "-budget", "1ms", "-window", "5ms", "-rounds", "1"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, w := range works(newLayout(options{assets: 20_000, versions: 2})) {
		if !strings.Contains(out.String(), "| "+w.name+" |") {
			t.Errorf("no row %q in\n%s", w.name, out.String())
		}
	}
}

// TestSmallCustomRun checks that custom attributes get the same answers as built-in
// attributes, on both databases.
func TestSmallCustomRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: it fills two databases; TestSmallRun does the works of the table")
	}
	u, err := url.Parse(testdb.URL(t, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = ""
	var out bytes.Buffer
	args := []string{"-custom", "-mysql", u.String(), "-redis", testdb.Redis(t), "-assets", "20000", "-budget", "1ms", "-rounds", "1"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, p := range customPeers() {
		if n := strings.Count(out.String(), "| "+p.what+" |"); n != 2 {
			t.Errorf("%d rows %q in\n%s", n, p.what, out.String())
		}
	}
}

// TestSmallFirstUse checks that every turn starts without feed positions and is printed.
func TestSmallFirstUse(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: it fills a database; TestSmallRun does the works of the table")
	}
	u, err := url.Parse(testdb.URL(t, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = ""
	var out bytes.Buffer
	args := []string{"-first", "-mysql", u.String(), "-redis", testdb.Redis(t), "-assets", "20000", "-versions", "1", "-budget", "100ms", "-rounds", "2"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n| "); n != 3 {
		t.Errorf("%d rows in\n%s", n, out.String())
	}
}

func TestLayout(t *testing.T) {
	l := newLayout(options{assets: 50_000, versions: 5})
	counts := map[int]int{}
	big := 0
	for i, it := range l.items {
		counts[it.typ]++
		if it.scope == bigScope {
			big++
		}
		for _, up := range []int64{it.parent, it.super} {
			if up != 0 && (up >= l.id(i) || l.items[up-firstItem].scope != it.scope) {
				t.Fatalf("item %d hangs below %d, which is later or in another scope", l.id(i), up)
			}
		}
	}
	n := len(l.items)
	if share := 100 * counts[typeStory] / n; share < 34 || share > 42 {
		t.Errorf("%d %% are stories", share)
	}
	if big < n/25 || big > n*6/100 {
		t.Errorf("%d of %d items in the big scope, want a twentieth", big, n)
	}
	for i := range scopes {
		for k, up := 0, scopeParent(i); up != 0; k, up = k+1, scopeParent(int(up-firstScope)) {
			if k > 5 {
				t.Fatalf("scope %d is too deep, or below itself", i)
			}
		}
	}
	if m := l.asOfMoment(); m < l.moment(l.id(n-1), 3) || m >= l.moment(firstMember, 4) {
		t.Errorf("moment %d does not lie between the last two waves", m)
	}
}
