package main

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestSmallRun checks that every kind of request is sent and printed at each size.
func TestSmallRun(t *testing.T) {
	u, err := url.Parse(testdb.URL(t, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = ""
	at := "2000,8000"
	if testing.Short() {
		at = "200,800"
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-mysql", u.String(), "-redis", testdb.Redis(t), "-at", at, "-goes", "2", "-settle", "0s"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, w := range works {
		if strings.Count(out.String(), "\n| "+w.name+" | ") != 2 {
			t.Errorf("not two rows %q in\n%s", w.name, out.String())
		}
	}
	if _, err := parseFlags([]string{"-at", "2,1"}); err == nil {
		t.Error("sizes that shrink are taken")
	}
}
