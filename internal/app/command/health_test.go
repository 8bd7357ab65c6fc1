package command

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestHealth checks that the command prints the answer of the process, and succeeds only if the
// process is ready.
func TestHealth(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(r.URL.Path + " is asked"))
	}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	for binary := range binaries {
		commandCase{line: binary + " health", env: "ALDS_ADMIN_ADDR=" + addr, stdout: "/readyz is asked"}.run(t, nil)
	}
	commandCase{line: "api health", env: "ALDS_ADMIN_ADDR=0.0.0.0:" + port, stdout: "/readyz is asked"}.run(t, nil)
	status = http.StatusServiceUnavailable
	commandCase{line: "api health", env: "ALDS_ADMIN_ADDR=:" + port, status: 1, stdout: "/readyz is asked", stderr: "not ready: 503"}.run(t, nil)
	commandCase{line: "api health", env: "ALDS_ADMIN_ADDR=127.0.0.1:1", status: 1, stderr: "refused"}.run(t, nil)
	commandCase{line: "api health", status: 1, stderr: "ALDS_ADMIN_ADDR is not set"}.run(t, nil)
	commandCase{line: "worker health foo", status: 2, stderr: "unexpected argument foo; see `worker health --help`\n"}.run(t, nil)
}
