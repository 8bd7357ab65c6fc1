package main

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestSmallRun offers a low rate for a short time. It checks that every sort of request gets
// the right answer and that every row is printed.
func TestSmallRun(t *testing.T) {
	testdb.Address(t, "127.0.0.8")
	u, err := url.Parse(testdb.URL(t, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = ""
	var out bytes.Buffer
	step, lasting := "500ms", "2s"
	if testing.Short() {
		step, lasting = "100ms", "300ms"
	}
	args := []string{
		"-mysql", u.String(), "-redis", testdb.Redis(t), "-stories", "400", "-logins", "100", "-conns", "50",
		"-from", "40", "-rate", "40", "-factor", "2", "-step", step, "-time", lasting, "-after", lasting,
	}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| sustainable rate | 40 requests/s |", "| goodput |", "| answered otherwise | 0 |", "| itself again |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestSharesAreAHundred(t *testing.T) {
	sum := 0
	for _, s := range mix {
		sum += s.share
	}
	if sum != 100 {
		t.Errorf("the shares of the mix are %d together", sum)
	}
}

// TestRecovery checks that the first good second is found. Of the 31 windows from then on, 21
// are good.
func TestRecovery(t *testing.T) {
	began := time.Unix(1_000_000, 0)
	var all []outcome
	for i := range 600 { // a hundred per second; the first two seconds and the last one are bad
		at := time.Duration(i) * 10 * time.Millisecond
		one := outcome{due: began.Add(at), took: 5 * time.Millisecond, status: http.StatusOK, right: true}
		switch {
		case at < time.Second:
			one.status, one.right = http.StatusServiceUnavailable, false
		case at < 2*time.Second:
			one.took = time.Second
		case at >= 5*time.Second:
			one.status, one.right = overdue, false
		}
		all = append(all, one)
	}
	after, steady, ok := recovery(all, began, 6*time.Second, 10*time.Millisecond)
	if !ok || after != 2*time.Second || steady < 20.5/31 || steady > 21.5/31 {
		t.Errorf("after %v, %.2f from then on, %v", after, steady, ok)
	}
	if _, _, ok := recovery(all, began, 6*time.Second, time.Millisecond); ok {
		t.Error("good where no request is quick enough")
	}
	r := summed(all, 6*time.Second)
	if r.offered != 600 || r.right != 400 || r.refused != 100 || r.broken != 100 || r.sent != 600 {
		t.Errorf("%+v", r)
	}
}
