package pagetest

import "github.com/chromedp/chromedp/kb"

// stop is an element that has got the focus.
type stop struct {
	Element string // its tag, as it stands in the page
	Ring    bool   // there is an outline, or a shadow that it has with the focus alone
}

// stopsAtMost is more than any page has.
const stopsAtMost = 1000

// keyboard presses Tab from the start of the page until the focus has been everywhere.
// It returns the elements in the order in which they got the focus, and those that a
// person can use but did not reach.
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

// keyboardStart has the next Tab begin at the start of the page, and remembers what
// should be reached. Elements with a negative tabindex are left to the arrow keys.
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

// keyboardStop is the element that has the focus; null for none, and for one that had
// it before. One that keeps it for a few steps, as the parts of a date do, has no name
// meanwhile.
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

// keyboardEnd is what was not reached. Of radio buttons with one name Tab reaches one,
// and the arrow keys the others. The focus is nowhere again.
const keyboardEnd = `(() => {
	const {left, seen, tag} = window.pagetest;
	document.activeElement?.blur();
	scrollTo(0, 0);
	const radio = e => e.type === 'radio' && [...seen].some(o => o.type === 'radio' && o.name === e.name && o.form === e.form);
	return [...left].filter(e => !radio(e)).map(tag);
})()`
