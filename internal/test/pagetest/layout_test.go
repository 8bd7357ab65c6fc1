package pagetest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pagetest.pictures", "", "keep pictures of the pages in this folder; a relative one lies below internal/test/pagetest")

// overflows returns the elements that reach beyond the right edge of the screen, so that a person must
// scroll sideways. It returns none if the page fits.
func overflows(b *tab) []string {
	b.t.Helper()
	return eval[[]string](b, overflowing)
}

// overflowing is a script that returns the innermost elements that reach beyond the screen. It ignores an
// element if another element around it clips or scrolls it.
const overflowing = `(() => {
	const root = document.scrollingElement, width = root.clientWidth;
	if (width > screen.width) return ['the page is laid out ' + width + ' pixels wide for a screen of ' + screen.width + ': it names no viewport'];
	if (root.scrollWidth <= width) return [];
	const beyond = e => e.getBoundingClientRect().right > width + 1;
	const cut = e => { for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
		if (getComputedStyle(p).overflowX !== 'visible' && !beyond(p)) return true; return false; };
	const wide = [...document.body.querySelectorAll('*')].filter(e => e.checkVisibility() && beyond(e) && !cut(e));
	const inner = wide.filter(e => ![...e.children].some(c => wide.includes(c)));
	const tag = e => e.cloneNode(false).outerHTML.slice(0, 200);
	return ['the page is ' + root.scrollWidth + ' pixels wide on a screen of ' + width, ...inner.slice(0, 10).map(tag)];
})()`

// screenshot stores a picture of the whole page in the folder of the flag -pagetest.pictures, if the flag
// is set.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	const png = 100 // quality in percent
	picture := send(b, "take a picture", chromedp.FullScreenshot(png))
	err := os.MkdirAll(*pictures, 0o750)
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+".png"), picture, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestRowsOnAPhone checks long lists on a phone. The texts must be below the short cells and use almost the
// full width.
func TestRowsOnAPhone(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	story := s.fill()["Story"]
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.size(390, 844)
	for _, path := range []string{assetPage(story) + "&tab=history", assetPage(story) + "&tab=activity", "/alds/ui/members/audit"} {
		b.open(path)
		if narrow := eval[int](b, `Math.floor(Math.min(...[...document.querySelectorAll("main tbody tr > .text")].map(e => e.getBoundingClientRect().width || 390)))`); narrow < 300 {
			t.Errorf("%s: a text has %d pixels", path, narrow)
		}
		if beyond := overflows(b); len(beyond) > 0 {
			t.Errorf("%s: %s", path, beyond)
		}
		accessible(t, b)
		b.screenshot("phone")
	}
}
