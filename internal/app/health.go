package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/alds-dev/alds/internal/app/config"
)

// healthLimit is how long a process may take to say how it is.
const healthLimit = 3 * time.Second

// healthCommand asks a process of the same settings how it is, for containers, which
// have no other program that could.
type healthCommand struct{}

// Run prints what the process at ALDS_ADMIN_ADDR says of its readiness.
// Errors: also when it is not ready.
func (healthCommand) Run(ctx context.Context, o outside) error {
	addr, err := config.AdminAddr(o.getenv)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(addr)+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(o.stdout, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", res.Status)
	}
	return nil
}

// reachable returns the address by which a listener of this machine can be reached.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}
