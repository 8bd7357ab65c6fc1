package pagetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// tab is a tab of the browser, with cookies of its own. Its methods fail the test
// where they cannot do what they are for.
type tab struct {
	t        testing.TB
	ctx      context.Context
	site     string        // that of the pages, such as http://127.0.0.1:8080
	patience time.Duration // how long an action, or a condition, may take

	watched sync.Mutex
	seen    []request
	latest  map[network.RequestID]int // in seen
	trouble []string
	allowed []string
	dialogs chan struct{} // one is open
}

// patience is that of a tab for which a test sets no other.
const patience = 30 * time.Second

// newTab opens an empty tab for the pages of a site.
func newTab(t testing.TB, site string) *tab {
	t.Helper()
	b := &tab{t: t, site: site, patience: patience, latest: map[network.RequestID]int{}, dialogs: make(chan struct{}, 1)}
	ctx, closeTab := chromedp.NewContext(browser(t), chromedp.WithNewBrowserContext(), chromedp.WithListener(b.note))
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as the context of its first action
		t.Fatalf("open a tab: %v", err)
	}
	b.ctx = ctx
	go b.closeDialogs()
	t.Cleanup(b.report)
	command(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.size(1280, 960)
	return b
}

// send does something in the tab, within its patience. what names it where it fails.
func send[T any](b *tab, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, b.patience)
	defer cancel()
	result, err := chromedp.Run(ctx, action)
	if errors.Is(err, context.DeadlineExceeded) {
		b.t.Fatalf("%s: not within %s, at %s", what, b.patience, b.location())
	}
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return result
}

// command sends a command of the browser's protocol.
func command[P, R any](b *tab, c cdp.Command[P, R], params P) {
	b.t.Helper()
	send(b, c.Method, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, c, params)
	})
}

// eval evaluates a script as the page's debugger does: neither its policy nor
// withoutScript is in the way.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	return send(b, fmt.Sprintf("evaluate %.80s", script), chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// location is where the tab is, as far as it says.
func (b *tab) location() string {
	ctx, cancel := context.WithTimeout(b.ctx, time.Second)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return "a page that does not answer"
	}
	return at
}

// path is where the tab is, below the site.
func (b *tab) path() string { return strings.TrimPrefix(b.location(), b.site) }

// waitAt waits until the tab is at a path: what is searched for while it is typed leads to
// places in between.
func (b *tab) waitAt(path string) {
	b.t.Helper()
	send(b, "wait for the place "+path, chromedp.Poll[any](fmt.Sprintf("location.href == %q", b.site+path)))
}

// open opens the page at a path of the site, and returns the status of the answer.
func (b *tab) open(path string) (status int) {
	b.t.Helper()
	return answered(send(b, "open "+path, chromedp.NavigateResponse(b.site+path)))
}

// loads does what leads to another page, waits until that is loaded, and returns the
// status of its answer.
func (b *tab) loads(action func()) (status int) {
	b.t.Helper()
	step := chromedp.Func(func(context.Context, *chromedp.Target) error { action(); return nil })
	return answered(send(b, "wait for the next page", func(ctx context.Context, _ *chromedp.Target) (*network.Response, error) {
		return chromedp.RunResponse(ctx, step)
	}))
}

// answered is the status of an answer; 0 where nothing was asked for, as for another
// place of the same page.
func answered(response *network.Response) (status int) {
	if response == nil {
		return 0
	}
	return int(response.Status)
}

// follow clicks on what leads to another page, and waits for that. What the page has asked for
// is answered before: the browser would give it up, and htmx reports that as an error.
func (b *tab) follow(selector string) (status int) {
	b.t.Helper()
	b.waitGone(".htmx-request")
	return b.loads(func() { b.t.Helper(); b.click(selector) })
}

// submit sends a form by its button, and waits for the page that answers.
func (b *tab) submit(form string) (status int) {
	b.t.Helper()
	return b.follow(form + " [type=submit]")
}

// click clicks with the mouse on the first element that the selector matches.
func (b *tab) click(selector string) {
	b.t.Helper()
	send(b, "click on "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// typed is how much of a text is typed key by key; more is pasted but for its last
// character, since each key is several messages to the browser.
const typed = 12

// fill types a text into a field instead of what it holds.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	field := chromedp.CSS(selector)
	send(b, "fill in "+selector, chromedp.Steps(chromedp.WaitVisible(field), chromedp.Clear(field), chromedp.Focus(field)))
	if last := len(text) - 1; last >= typed && text[last] < utf8.RuneSelf {
		command(b, input.InsertText, input.InsertTextParams{Text: text[:last]})
		text = text[last:]
	}
	send(b, "type in "+selector, chromedp.SendKeys(field, text))
}

// press presses keys of package kb, such as kb.Enter.
func (b *tab) press(keys string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	send(b, "press a key", chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...)))
}

// waitFor waits until an element is there and can be seen.
func (b *tab) waitFor(selector string) {
	b.t.Helper()
	send(b, "wait for "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// waitGone waits until no such element is there.
func (b *tab) waitGone(selector string) {
	b.t.Helper()
	send(b, "wait until there is no "+selector, chromedp.WaitNotPresent(chromedp.CSS(selector)))
}

// exists reports whether an element is there now.
func (b *tab) exists(selector string) bool {
	b.t.Helper()
	return eval[bool](b, "document.querySelector("+quote(selector)+") !== null")
}

// text is what a person reads in an element, once it is there.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return send(b, "read "+selector, chromedp.Text(chromedp.CSS(selector)))
}

// html is the whole page as it is now.
func (b *tab) html() string {
	b.t.Helper()
	return eval[string](b, "document.documentElement.outerHTML")
}

// size gives the tab the size of a screen; one below 600 pixels is a phone's.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, ScreenWidth: width, ScreenHeight: height, DeviceScaleFactor: 1, Mobile: width < 600,
	})
}

// The colors that a person may prefer.
const (
	light = "light"
	dark  = "dark"
)

// colorScheme makes the person prefer light or dark.
func (b *tab) colorScheme(scheme string) {
	b.t.Helper()
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// withoutScript runs no script of the pages that are opened from now on.
func (b *tab) withoutScript() {
	b.t.Helper()
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// withoutCache fetches everything of each page, as at a first visit.
func (b *tab) withoutCache() {
	b.t.Helper()
	command(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
}
