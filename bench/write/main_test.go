package main

import (
	"bytes"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestSmallRun measures for a short time. It checks that both sides leave the same rows and
// that every row is printed.
func TestSmallRun(t *testing.T) {
	u, err := url.Parse(testdb.URL(t, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = ""
	var out bytes.Buffer
	args := []string{"-mysql", u.String(), "-redis", testdb.Redis(t), "-goes", "1", "-singles", "2", "-scale", "10", "-window", "10ms"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	o, err := parseFlags(args)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range works(o) {
		if !strings.Contains(out.String(), "| "+w.name+" |") {
			t.Errorf("no row %q in\n%s", w.name, out.String())
		}
	}
	if got := strings.Count(out.String(), "writers of alds"); got != 4 {
		t.Errorf("%d lines about many writers, want 4, in\n%s", got, out.String())
	}
}

// TestSmallRunOnAFile checks that one and many clients write without failures.
func TestSmallRunOnAFile(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-sqlite", filepath.Join(t.TempDir(), "alds.db"), "-redis", testdb.Redis(t), "-goes", "1", "-window", "10ms"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| 1 |", "| 16 |"} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("no row %q in\n%s", row, out.String())
		}
	}
}

// TestTraceSeesWhatIsMissing removes one version of a write with hand-written SQL and expects
// that trace shows a difference.
func TestTraceSeesWhatIsMissing(t *testing.T) {
	d := testdb.MySQL(t)
	s, h := &sides{db: d}, &hand{db: d}
	if _, err := d.Exec(t.Context(), `INSERT INTO sequence (name, value) VALUES ('number:Story', 1000)`); err != nil {
		t.Fatal(err)
	}
	trace := func(write func() error) string {
		text, err := s.trace(t.Context(), write)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	whole := trace(func() error { return h.create(t.Context(), 3, nil) })
	again := trace(func() error { return h.create(t.Context(), 3, nil) })
	if whole != again {
		t.Errorf("the same twice differs:\n%s%s", whole, again)
	}
	less := trace(func() error {
		if err := h.create(t.Context(), 3, nil); err != nil {
			return err
		}
		_, err := d.Exec(t.Context(), `DELETE FROM asset_version ORDER BY moment DESC LIMIT 1`)
		return err
	})
	if less == whole {
		t.Errorf("a missing version is not seen:\n%s", less)
	}
}
