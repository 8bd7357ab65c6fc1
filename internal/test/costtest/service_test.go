package costtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/app/embedded"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// showsSQL is the environment variable that makes the service print its statements.
const showsSQL = "COSTTEST_SQL"

// countsAt is the environment variable that makes this binary run the service and not the tests. Its value
// is the address at which the service serves its counts.
const countsAt = "COSTTEST_COUNTS"

func TestMain(m *testing.M) {
	addr := os.Getenv(countsAt)
	if addr == "" {
		testproc.Main(m)
		return
	}
	if err := serve(addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs standalone and counts its work.
func serve(addr string) error {
	countSQLite()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- tellCounts(addr) }()
	ended := make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, app.Environment{Getenv: os.Getenv, Stderr: os.Stderr}, app.StandaloneWith(embedded.Start))
	}()
	select {
	case err := <-failed:
		return err
	case err := <-ended:
		return err
	}
}
