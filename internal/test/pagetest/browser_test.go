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

// program is the name of the browser in Debian.
const program = "chromium-headless-shell"

// startsIn is how long the browser may take to start.
const startsIn = time.Minute

// flags limit the browser to the pages that the tests open. It has no sandbox, because root cannot use one.
// It sends no DNS queries, so it reaches only addresses of this machine.
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
	// No tab is slowed down in the background.
	"disable-background-timer-throttling":    true,
	"disable-backgrounding-occluded-windows": true,
	"disable-renderer-backgrounding":         true,
	// Frames of other sites run in the process of their page, which reports their requests.
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
	if testing.Short() { // tests mostly wait for the browser
		_ = flag.Set("test.parallel", "4")
	}
	code := testdb.Run(m)
	endBrowser()
	os.Exit(code)
}

// endBrowser ends the browser in an orderly way and returns when its folder is removed.
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

// browser returns the browser. The first call starts it with an empty profile in a separate folder.
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
	late := time.AfterFunc(startsIn, stop) // the browser ends with the context that started it
	if err := chromedp.Do(ctx); err != nil || !late.Stop() {
		end()
		t.Fatalf("start %s: %v", program, err)
	}
	shared.ctx, shared.end = ctx, end
	return ctx
}
