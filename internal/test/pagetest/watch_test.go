package pagetest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// request is a request that the pages in a tab have sent.
type request struct {
	url   string
	bytes int64 // transferred bytes, including headers; known when the request has ended
}

// requests returns all requests so far. A redirect counts as two requests.
func (b *tab) requests() []request {
	b.watched.Lock()
	defer b.watched.Unlock()
	return slices.Clone(b.seen)
}

// weight returns the transferred bytes of requests.
func weight(requests []request) int64 {
	var sum int64
	for _, r := range requests {
		sum += r.bytes
	}
	return sum
}

// expect allows trouble whose text contains part. The test fails if no such trouble happens.
func (b *tab) expect(part string) {
	b.watched.Lock()
	defer b.watched.Unlock()
	b.allowed = append(b.allowed, part)
}

// report fails the test for unexpected trouble, and for expected trouble that did not happen.
func (b *tab) report() {
	b.t.Helper()
	if !b.t.Failed() {
		eval[int](b, "0") // when eval returns, all earlier events have been recorded
	}
	b.watched.Lock()
	defer b.watched.Unlock()
	for _, what := range b.trouble {
		if !slices.ContainsFunc(b.allowed, func(part string) bool { return strings.Contains(what, part) }) {
			b.t.Error(what)
		}
	}
	for _, part := range b.allowed {
		if !slices.ContainsFunc(b.trouble, func(what string) bool { return strings.Contains(what, part) }) {
			b.t.Errorf("nothing was seen of what the test expects: %s", part)
		}
	}
}

// note records an event of the tab. The browser library calls it for one event after another. It must not
// send anything to the browser.
func (b *tab) note(event any) {
	b.watched.Lock()
	defer b.watched.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if last, redirected := b.latest[e.RequestID]; redirected && e.RedirectResponse != nil {
			b.seen[last].bytes = int64(e.RedirectResponse.EncodedDataLength)
		}
		b.latest[e.RequestID] = len(b.seen)
		b.noteRequest(e.Request.URL)
	case *network.EventWebSocketCreated:
		b.noteRequest(e.URL)
	case *network.EventLoadingFinished:
		if last, known := b.latest[e.RequestID]; known {
			b.seen[last].bytes = int64(e.EncodedDataLength)
		}
	case *page.EventJavascriptDialogOpening:
		b.noteTrouble("%s: %q, a dialog of %s", e.Type, e.Message, e.URL)
		select {
		case b.dialogs <- struct{}{}:
		default: // a dialog opens only after the previous one was closed
		}
	case *page.EventWindowOpen:
		b.noteTrouble("a window was opened: %s", e.URL)
	case *runtime.EventExceptionThrown:
		b.noteTrouble("%v", &chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails})
	case *runtime.EventConsoleAPICalled:
		text := printed(e.Args)
		if (e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert) && !isGivenUp(text) {
			b.noteTrouble("console.%s: %s", e.Type, text)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			b.noteTrouble("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	}
}

// isGivenUp reports whether a text is a message of htmx about a request that ended because the user left
// the page. The user does not notice that. For other failed requests htmx writes one more message.
func isGivenUp(text string) bool {
	return strings.HasPrefix(text, "htmx:afterRequest") || strings.HasPrefix(text, "htmx:sendAbort")
}

func (b *tab) noteRequest(address string) {
	b.seen = append(b.seen, request{url: address})
	if foreign(b.site, address) {
		b.noteTrouble("a request to another host: %s", address)
	}
}

func (b *tab) noteTrouble(format string, args ...any) {
	b.trouble = append(b.trouble, fmt.Sprintf(format, args...))
}

// closeDialogs accepts all dialogs, because an open dialog blocks the page.
func (b *tab) closeDialogs() {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.dialogs:
			// The test may have closed the tab.
			_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}
	}
}

// foreign reports whether a request for the URL goes to another host than the site. A URL that contains its
// data, such as data:, goes to no host.
func foreign(site, address string) bool {
	own, err := url.Parse(site)
	if err != nil {
		return true
	}
	u, err := url.Parse(address)
	return err != nil || u.Host != "" && u.Host != own.Host
}

// printed returns the text that the console shows for values.
func printed(values []*runtime.RemoteObject) string {
	var all []string
	for _, v := range values {
		text := v.Description
		if v.Value != nil && json.Unmarshal(v.Value, &text) != nil {
			text = string(v.Value)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// quote returns a text as a string literal of JavaScript.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is always valid
	}
	return string(b)
}
