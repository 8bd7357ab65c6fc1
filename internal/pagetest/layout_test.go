package pagetest

import (
	"flag"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pagetest.pictures", "", "keep pictures of the pages in this folder; a relative one lies below internal/pagetest")

// overflows returns the elements for which a person has to scroll sideways, none
// where the page is as wide as the screen.
func overflows(b *tab) []string {
	b.t.Helper()
	return eval[[]string](b, overflowing)
}

// overflowing lists the innermost elements that reach beyond the screen and are not
// cut off, or scrolled, by an element around them.
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

// screenshot keeps a picture of the whole page where -pagetest.pictures says, if it
// says anything.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	const png = 100 // percent of quality
	picture := send(b, "take a picture", chromedp.FullScreenshot(png))
	err := os.MkdirAll(*pictures, 0o750)
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+".png"), picture, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
