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

// program is Debian's name of the browser.
const program = "chromium-headless-shell"

// startsIn is how long the browser may take until it answers.
const startsIn = time.Minute

// flags keep the browser from everything but the pages that tests open. It runs
// without a sandbox, since that does not work for root, and asks no name server: only
// addresses of this machine can be reached.
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
	// all tabs are in front, however many tests run
	"disable-background-timer-throttling":    true,
	"disable-backgrounding-occluded-windows": true,
	"disable-renderer-backgrounding":         true,
	// frames of other sites stay in the process of their page, which reports their requests
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
	if testing.Short() { // tests wait for the browser most of the time
		_ = flag.Set("test.parallel", "4")
	}
	code := testdb.Run(m)
	endBrowser()
	os.Exit(code)
}

// endBrowser tells the browser to end, so that it waits for its own processes, and
// returns when its folder is gone.
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

// browser starts the browser, with an empty profile in a folder of its own, unless a
// test has done so.
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
	late := time.AfterFunc(startsIn, stop) // the browser lives as long as the context it is started with
	if err := chromedp.Do(ctx); err != nil || !late.Stop() {
		end()
		t.Fatalf("start %s: %v", program, err)
	}
	shared.ctx, shared.end = ctx, end
	return ctx
}
