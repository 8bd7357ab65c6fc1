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

// showsSQL is an environment variable. If it is set, the service prints its statements.
const showsSQL = "COSTTEST_SQL"

// countsAt is an environment variable. If it is set, this binary runs the service instead of the tests. Its
// value is the address at which the service serves its counts.
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

// serve runs standalone. It counts the work of standalone and serves the counts at addr.
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
