package pagetest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// program is the name that the browser has in Debian.
const program = "chromium-headless-shell"

// startsIn is how long the browser may take to start.
const startsIn = time.Minute

// flags are the options of the browser. They make sure that it sends only what the tested pages send. It
// has no sandbox, because root cannot use one. It sends no DNS queries, so it can reach only addresses of
// this machine.
var flags = map[string]any{
	"no-sandbox":                    true,
	"disable-gpu":                   true,
	"disable-quic":                  true,
	"disable-background-networking": true,
	"disable-component-update":      true,
	"disable-sync":                  true,
	"disable-dev-shm-usage":         true,
	"disable-extensions":            true,
	"no-proxy-server":               true,
	"host-resolver-rules":           "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
	// The browser does not slow down tabs in the background.
	"disable-background-timer-throttling":    true,
	"disable-backgrounding-occluded-windows": true,
	"disable-renderer-backgrounding":         true,
	// Frames of other sites run in the same process as the page, so that this process reports their
	// requests.
	"disable-features":    "IsolateOrigins,site-per-process,Translate",
	"force-color-profile": "srgb",
}

// shared is the browser of this test binary.
var shared struct {
	sync.Mutex
	ctx context.Context
	end context.CancelFunc
}

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() { // most of the time the tests wait for the browser
		_ = flag.Set("test.parallel", "4")
	}
	code := testdb.Run(m)
	endBrowser()
	os.Exit(code)
}

// endBrowser closes the browser properly. It returns when the folder of the browser is removed.
func endBrowser() {
	if shared.ctx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(shared.ctx, patience)
	defer cancel()
	if err := chromedp.Cancel(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "end the browser:", err)
	}
	shared.end()
}

// browser returns the browser. The first call starts it with an empty profile in a new folder.
func browser(t testing.TB) context.Context {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.ctx != nil {
		return shared.ctx
	}
	testdb.Runs(t, program, "--version")
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program), chromedp.Headless, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck}
	for name, value := range flags {
		options = append(options, chromedp.Flag(name, value))
	}
	process, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(process)
	late := time.AfterFunc(startsIn, stop) // canceling the context ends the browser
	if err := chromedp.Do(ctx); err != nil || !late.Stop() {
		end()
		t.Fatalf("start %s: %v", program, err)
	}
	shared.ctx, shared.end = ctx, end
	return ctx
}
