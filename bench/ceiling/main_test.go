package main

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestSmallRun runs the bench for a short time and checks that every row is printed.
func TestSmallRun(t *testing.T) {
	u, err := url.Parse(testdb.URL(t, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = ""
	var out bytes.Buffer
	seconds := "0.5"
	if testing.Short() {
		seconds = "0.05"
	}
	args := []string{
		"-mysql", u.String(), "-redis", testdb.Redis(t), "-apis", "1,2", "-clients", "2", "-rtt", "0,1ms", "-seconds", seconds, "-stories", "50",
	}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"innodb_flush_log_at_trx_commit", "\n| 0 | create | ", "\n| 1 | update | ", "\n| 0 | ", " | 1 | 2 | ", " | 2 | 2 | ", " | 1.00 | "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "NaN") {
		t.Error(out.String())
	}
}

func TestFlags(t *testing.T) {
	o, err := parseFlags([]string{"-apis", "1, 8", "-rtt", "0,1.5ms", "-work", "create"})
	if err != nil || !slices.Equal(o.apis, []int{1, 8}) || !slices.Equal(o.clients, []int{8, 32}) ||
		!slices.Equal(o.rtts, []time.Duration{0, 1500 * time.Microsecond}) || o.work != "create" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range [][]string{
		{"-apis", "0"}, {"-apis", ""}, {"-clients", "8,x"}, {"-rtt", "2"}, {"-rtt", "-1ms"}, {"-work", "delete"}, {"-seconds", "0"}, {"-stories", "0"},
	} {
		if _, err := parseFlags(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestSummed(t *testing.T) {
	began := time.Now()
	var all []written
	for i := range 200 {
		all = append(all, written{at: began.Add(time.Duration(i) * 10 * time.Millisecond), took: time.Duration(200-i) * time.Millisecond, ok: i%10 != 0})
	}
	r := summed(all, began.Add(500*time.Millisecond), began.Add(1500*time.Millisecond))
	if r.rate != 90 || r.failed != 10 || len(r.took) != 90 || !slices.IsSorted(r.took) || at(r.took, 0) != 51*time.Millisecond {
		t.Errorf("%+v", r)
	}
	if none := summed(nil, began, began.Add(time.Second)); none.rate != 0 || at(none.took, .99) != 0 {
		t.Errorf("%+v", none)
	}
}

func TestNumbers(t *testing.T) {
	if got := median([]int64{9, 1, 16, 16, 16}); got != 16 {
		t.Errorf("median %d", got)
	}
	if got := mean([]int64{1, 2, 6}); got != 3 || mean(nil) != 0 {
		t.Errorf("mean %v", got)
	}
	for _, c := range [][4]time.Duration{{0, 2_000, 200, 900}, {900, 2_000, 2_100, 850}, {0, 100, 150, 0}, {10, 100, 150, 0}} {
		if got := corrected(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%v: %v", c, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"mysql://root@127.0.0.1:3306": "127.0.0.1:3306", "mysql://u:p@db": "db:3306", "mysql://": "", "mysql://u:%@db": "",
	} {
		if got, err := hostOf(address); got != want || err == nil != (want != "") {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	got, err := through("mysql://u:p@db/name", "127.0.0.1:7")
	if err != nil || got != "mysql://u:p@127.0.0.1:7/name" {
		t.Errorf("%q, %v", got, err)
	}
}
