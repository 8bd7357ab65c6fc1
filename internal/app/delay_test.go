package app

import (
	"net/http"
	"testing"
	"time"
)

// TestStoppingIsDelayed checks that an api reports at once that it is not ready after a stop
// signal, but serves requests until the delay is over.
func TestStoppingIsDelayed(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"ALDS_DATA_DIR": t.TempDir(), "ALDS_ADDR": "127.0.0.1:0", "ALDS_SHUTDOWN_DELAY": "2s"}
	delayed, over := make(chan time.Duration, 1), make(chan struct{})
	r := startIn(t, Environment{Getenv: env(settings), later: func(d time.Duration, fn func()) {
		delayed <- d
		go func() { <-over; fn() }()
	}}, Standalone)
	ask := func(url string) (status int, last bool) {
		res, err := http.Get(url) //nolint:gosec,noctx // the test's own service
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode, res.Close
	}
	is := func(want int) func() bool {
		return func() bool {
			got, _ := ask(r.admin + "/readyz")
			return got == want
		}
	}
	eventually(t, "it is ready", is(http.StatusOK))
	if got, last := ask(r.base + "/meta.v1"); got != http.StatusUnauthorized || last {
		t.Errorf("a request before the signal: %d, the last of its connection: %v", got, last)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.stop() }()
	if d := <-delayed; d != 2*time.Second {
		t.Errorf("it stops after %s", d)
	}
	eventually(t, "it is not ready any more", is(http.StatusServiceUnavailable))
	if got, last := ask(r.base + "/meta.v1"); got != http.StatusUnauthorized || !last {
		t.Errorf("a request after the signal: %d, the last of its connection: %v", got, last)
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended at once: %v", err)
	default:
	}
	close(over)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(r.base); err == nil { //nolint:bodyclose,gosec,noctx // the request must fail
		t.Error("it listens after its end")
	}
}
