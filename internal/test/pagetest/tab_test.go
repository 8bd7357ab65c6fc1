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

// tab is a tab of the browser with its own cookies. Its methods fail the test if they do not succeed.
type tab struct {
	t        testing.TB
	ctx      context.Context
	site     string        // origin of the pages, such as http://127.0.0.1:8080
	patience time.Duration // how long an action or a wait may take

	watched sync.Mutex
	seen    []request
	latest  map[network.RequestID]int // index in seen
	trouble []string
	allowed []string
	dialogs chan struct{} // gets a value when a dialog opens
}

// patience is the default value of tab.patience. It is so long that no test fails on a busy machine.
const patience = 3 * time.Minute

// newTab opens an empty tab for the pages of a site.
func newTab(t testing.TB, site string) *tab {
	t.Helper()
	b := &tab{t: t, site: site, patience: patience, latest: map[network.RequestID]int{}, dialogs: make(chan struct{}, 1)}
	ctx, closeTab := chromedp.NewContext(browser(t), chromedp.WithNewBrowserContext(), chromedp.WithListener(b.note))
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil { // the tab exists until the context of its first action ends
		t.Fatalf("open a tab: %v", err)
	}
	b.ctx = ctx
	go b.closeDialogs()
	t.Cleanup(b.report)
	command(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.size(1280, 960)
	return b
}

// send runs an action in the tab and returns the result. The test fails if that takes longer than the
// patience of the tab. what describes the action in messages.
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

// command sends a command of the DevTools protocol to the browser.
func command[P, R any](b *tab, c cdp.Command[P, R], params P) {
	b.t.Helper()
	send(b, c.Method, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, c, params)
	})
}

// eval evaluates a script in the page and returns the result. Neither the Content-Security-Policy of the
// page nor withoutScript prevents that, because the script runs as from the debugger.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	return send(b, fmt.Sprintf("evaluate %.80s", script), chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// location returns the URL of the tab for a message. If the page does not answer soon, it returns a text
// that says so.
func (b *tab) location() string {
	ctx, cancel := context.WithTimeout(b.ctx, time.Second)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return "a page that does not answer"
	}
	return at
}

// path returns the URL of the tab without the site.
func (b *tab) path() string {
	b.t.Helper()
	return strings.TrimPrefix(send(b, "read the location", chromedp.Location()), b.site)
}

// waitAt waits until the tab is at a path. It must wait, because a search while typing goes through other
// URLs first.
func (b *tab) waitAt(path string) {
	b.t.Helper()
	send(b, "wait for the place "+path, chromedp.Poll[any](fmt.Sprintf("location.href == %q", b.site+path)))
}

// open opens the page at a path of the site and returns the status of the answer.
func (b *tab) open(path string) (status int) {
	b.t.Helper()
	return answered(send(b, "open "+path, chromedp.NavigateResponse(b.site+path)))
}

// loads calls action, which must open another page. It waits until that page is loaded, and returns the
// status of its answer.
func (b *tab) loads(action func()) (status int) {
	b.t.Helper()
	step := chromedp.Func(func(context.Context, *chromedp.Target) error { action(); return nil })
	return answered(send(b, "wait for the next page", func(ctx context.Context, _ *chromedp.Target) (*network.Response, error) {
		return chromedp.RunResponse(ctx, step)
	}))
}

// answered returns the status of an answer, or 0 if there was no request. There is none for an anchor on
// the same page.
func answered(response *network.Response) (status int) {
	if response == nil {
		return 0
	}
	return int(response.Status)
}

// follow clicks on an element that opens another page, and waits for that page. Before the click it waits
// for running requests of the page. Otherwise the browser would cancel them, and htmx would report that as
// an error.
func (b *tab) follow(selector string) (status int) {
	b.t.Helper()
	b.waitGone(".htmx-request")
	return b.loads(func() { b.t.Helper(); b.click(selector) })
}

// submit sends a form with its button and waits for the page of the answer.
func (b *tab) submit(form string) (status int) {
	b.t.Helper()
	return b.follow(form + " [type=submit]")
}

// click clicks with the mouse on the first element that the selector matches.
func (b *tab) click(selector string) {
	b.t.Helper()
	send(b, "click on "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// typed is how many bytes of a text are typed key by key at most. Each key needs several messages to the
// browser. Of a longer text, all but the last character is pasted.
const typed = 12

// fill replaces the content of a field by a text, as if a person typed the text.
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

// write adds a text to a field, at its end.
func (b *tab) write(selector, text string) {
	b.t.Helper()
	send(b, "write in "+selector, chromedp.Focus(chromedp.CSS(selector)))
	command(b, input.InsertText, input.InsertTextParams{Text: text})
}

// choose chooses the option of a select that shows a text.
func (b *tab) choose(selector, shown string) {
	b.t.Helper()
	if !eval[bool](b, `(e => {
		const to = [...e.options].findIndex(o => o.text === `+quote(shown)+`);
		if (to < 0) return false;
		e.selectedIndex = to;
		e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true}));
		return true })(document.querySelector(`+quote(selector)+`))`) {
		b.t.Fatalf("%s does not offer %s", selector, shown)
	}
}

// press presses keys of package kb, such as kb.Enter.
func (b *tab) press(keys string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	send(b, "press a key", chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...)))
}

// waitFor waits until an element exists and is visible.
func (b *tab) waitFor(selector string) {
	b.t.Helper()
	send(b, "wait for "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// waitGone waits until no element matches the selector.
func (b *tab) waitGone(selector string) {
	b.t.Helper()
	send(b, "wait until there is no "+selector, chromedp.WaitNotPresent(chromedp.CSS(selector)))
}

// exists reports whether an element matches the selector now.
func (b *tab) exists(selector string) bool {
	b.t.Helper()
	return eval[bool](b, "document.querySelector("+quote(selector)+") !== null")
}

// text waits for an element and returns its visible text.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return send(b, "read "+selector, chromedp.Text(chromedp.CSS(selector)))
}

// html returns the whole page in its current state.
func (b *tab) html() string {
	b.t.Helper()
	return eval[string](b, "document.documentElement.outerHTML")
}

// size sets the screen size of the tab in pixels. If the width is below 600, the screen is that of a phone.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, ScreenWidth: width, ScreenHeight: height, DeviceScaleFactor: 1, Mobile: width < 600,
	})
}

// The color schemes that a person may prefer.
const (
	light = "light"
	dark  = "dark"
)

// colorScheme sets the preferred color scheme to light or dark.
func (b *tab) colorScheme(scheme string) {
	b.t.Helper()
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// withoutScript disables the scripts of pages that are opened later.
func (b *tab) withoutScript() {
	b.t.Helper()
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// withoutCache disables the cache, as at a first visit.
func (b *tab) withoutCache() {
	b.t.Helper()
	command(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
}
