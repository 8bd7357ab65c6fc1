package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/alds-dev/alds/internal/app/config"
)

// healthLimit is the time limit of the command health.
const healthLimit = 3 * time.Second

// healthCommand checks whether the process with the same settings is ready. It is for
// containers, which have no other program that can do this.
type healthCommand struct{}

// Run requests /readyz from the process at ALDS_ADMIN_ADDR and prints the answer.
// Errors: also if the process is not ready.
func (healthCommand) Run(ctx context.Context, o outside) error {
	addr, err := config.AdminAddr(o.Getenv)
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

// reachable returns an address at which a listener of this machine can be reached: localhost if
// it listens on all interfaces.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}
