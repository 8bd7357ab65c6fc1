package pagetest

import "github.com/chromedp/chromedp/kb"

// stop is an element that had the focus.
type stop struct {
	Element string // start tag of the element
	Ring    bool   // true: with the focus, it has an outline or gets a shadow
}

// stopsAtMost is a limit that is higher than the number of elements that can get the focus on any page.
const stopsAtMost = 1000

// keyboard presses Tab again and again from the start of the page, until every element had the focus. It
// returns the elements in this order, and the usable elements that Tab did not reach.
func keyboard(b *tab) (stops []stop, missed []string) {
	b.t.Helper()
	eval[bool](b, keyboardStart)
	for range stopsAtMost {
		b.press(kb.Tab)
		s := eval[*stop](b, keyboardStop)
		if s == nil {
			break
		}
		if s.Element != "" {
			stops = append(stops, *s)
		}
	}
	return stops, eval[[]string](b, keyboardEnd)
}

// keyboardStart is a script. It makes the next Tab begin at the start of the page, and remembers which
// elements Tab must reach. Elements with a negative tabindex are not among them, because pages use arrow
// keys for them.
const keyboardStart = `(() => {
	const start = document.createElement('span');
	start.tabIndex = -1;
	document.body.prepend(start);
	start.focus({preventScroll: true});
	start.remove();
	const usable = e => e.tabIndex >= 0 && !e.matches(':disabled') && !e.closest('[inert]')
		&& e.checkVisibility({visibilityProperty: true});
	const left = [...document.querySelectorAll(
		'a[href], button, input:not([type=hidden]), select, textarea, summary, iframe, [tabindex], [contenteditable]')].filter(usable);
	const tag = e => e.cloneNode(false).outerHTML.slice(0, 200);
	window.pagetest = {inside: 0, left: new Set(left), shadow: new Map(left.map(e => [e, getComputedStyle(e).boxShadow])), seen: new Set(), tag};
	return true;
})()`

// keyboardStop is a script that returns the element with the focus. It returns null if there is none, or if
// that element had the focus before. The element is empty while the focus stays in the same element for
// several steps, as in the parts of a date.
const keyboardStop = `(() => {
	const e = document.activeElement, {left, shadow, seen, tag} = window.pagetest;
	if (!e || e === document.body || e === document.documentElement || seen.has(e) && (e !== window.pagetest.last || ++window.pagetest.inside > 6)) return null;
	if (seen.has(e)) return {Element: '', Ring: true};
	window.pagetest.last = e, window.pagetest.inside = 0;
	seen.add(e);
	left.delete(e);
	document.getAnimations().forEach(a => { try { a.finish() } catch { /* one without an end */ } });
	const s = getComputedStyle(e);
	const outline = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 && !/^transparent$|, 0\)$|\/ 0\)$/.test(s.outlineColor);
	return {Element: tag(e), Ring: outline || s.boxShadow !== 'none' && s.boxShadow !== shadow.get(e)};
})()`

// keyboardEnd is a script that removes the focus and returns the elements that Tab did not reach. It
// ignores a radio button if Tab has reached another radio button with the same name, because arrow keys
// reach the other buttons of this name.
const keyboardEnd = `(() => {
	const {left, seen, tag} = window.pagetest;
	document.activeElement?.blur();
	scrollTo(0, 0);
	const radio = e => e.type === 'radio' && [...seen].some(o => o.type === 'radio' && o.name === e.name && o.form === e.form);
	return [...left].filter(e => !radio(e)).map(tag);
})()`
