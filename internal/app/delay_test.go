package app

import (
	"net/http"
	"testing"
	"time"
)

// An api that was told to stop is not ready at once, so that balancers send nobody
// there, and takes requests until they have noticed.
func TestStoppingIsDelayed(t *testing.T) {
	const delay = 2 * time.Second
	r := start(t, map[string]string{"ALDS_DATA_DIR": t.TempDir(), "ALDS_ADDR": freeAddr(t), "ALDS_SHUTDOWN_DELAY": delay.String()}, Standalone)
	ask := func(url string) (status int, last bool) {
		res, err := http.Get(url) //nolint:gosec,noctx // the test's own service
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode, res.Close
	}
	status := func(url string) int {
		got, _ := ask(url)
		return got
	}
	for begun := time.Now(); status(r.admin+"/readyz") != http.StatusOK; <-time.After(10 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("it does not become ready")
		}
	}
	if got, last := ask(r.base + "/meta.v1"); got != http.StatusUnauthorized || last {
		t.Errorf("a request before the signal: %d, the last of its connection: %v", got, last)
	}
	told, ended := time.Now(), make(chan error, 1)
	go func() { ended <- r.stop() }()
	for status(r.admin+"/readyz") != http.StatusServiceUnavailable {
		if time.Since(told) > delay {
			t.Fatal("it stays ready")
		}
	}
	if got, last := ask(r.base + "/meta.v1"); got != http.StatusUnauthorized || !last {
		t.Errorf("a request after the signal: %d, the last of its connection: %v", got, last)
	}
	if err := <-ended; err != nil || time.Since(told) < delay {
		t.Errorf("it ended after %s: %v", time.Since(told), err)
	}
	if _, err := http.Get(r.base); err == nil { //nolint:bodyclose,gosec,noctx // there is none
		t.Error("it listens after its end")
	}
}
