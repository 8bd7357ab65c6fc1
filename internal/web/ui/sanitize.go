package ui

import (
	"html/template"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxMarkup is how many bytes of a text are read as HTML; of a longer one the beginning
// is shown as it was written.
const maxMarkup = 256 << 10

// hasMarkup finds what makes a text one of HTML: an element or a character by name.
var hasMarkup = regexp.MustCompile(`</?[a-zA-Z]|<!--|&(#\d+|#[xX][0-9a-fA-F]+|\w+);`)

// Sanitized returns a text of people that may hold HTML, without all that could run,
// load anything, send anything or leave its place on the page.
func Sanitized(text string) template.HTML {
	if len(text) > maxMarkup {
		return asWritten(strings.ToValidUTF8(text[:maxMarkup], "") + "…")
	}
	if !hasMarkup.MatchString(text) || reopened(text) > maxReopened {
		return asWritten(text)
	}
	closed, err := balanced(text)
	if err != nil {
		return asWritten(text)
	}
	return template.HTML(markup.Sanitize(closed))
}

// maxReopened is how many elements may be opened again where a text does not close them:
// a reader of HTML opens all formatting that is open again in each block that follows, so
// that a few kilobytes would make gigabytes.
const maxReopened = 10_000

// formatting are the elements that a reader of HTML opens again.
var formatting = map[atom.Atom]bool{
	atom.A: true, atom.B: true, atom.Big: true, atom.Code: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Nobr: true, atom.S: true,
	atom.Small: true, atom.Strike: true, atom.Strong: true, atom.Tt: true, atom.U: true,
}

// reopened returns the most elements that a reader of HTML may have to open again.
func reopened(text string) (n int) {
	open, all := map[atom.Atom]int{}, 0
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return n
		}
		name, _ := z.TagName()
		tag := atom.Lookup(name)
		switch {
		case kind == html.StartTagToken && formatting[tag]:
			open[tag]++
			all++
		case kind == html.EndTagToken && formatting[tag] && open[tag] > 0:
			open[tag]--
			all--
		case kind == html.StartTagToken || kind == html.EndTagToken || kind == html.SelfClosingTagToken:
			n += all
		}
	}
}

// asWritten shows a text as it stands.
func asWritten(text string) template.HTML {
	lines := strings.ReplaceAll(template.HTMLEscapeString(text), "\r\n", "\n")
	return template.HTML(strings.ReplaceAll(lines, "\n", "<br>"))
}

// balanced closes what a text opens and drops what it closes without having opened it,
// which the policy does not look at.
func balanced(text string) (string, error) {
	place := &html.Node{Type: html.ElementNode, DataAtom: atom.Div, Data: "div"}
	nodes, err := html.ParseFragment(strings.NewReader(text), place)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, n := range nodes {
		if err := html.Render(&b, n); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// markup is what a text may hold. It runs last, so that nothing reads its output but the
// browser.
var markup = markupPolicy()

// ownPicture is the address of a content of this service.
var ownPicture = regexp.MustCompile(`^(/[\w.~-]+/)?(embedded|attachment)(\.oauth)?\.img/\d+$`)

// markupPolicy is the policy of bluemonday for contents of users without what concerns
// the page around them: names of elements, headings, sections, and pictures of others.
func markupPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowStandardURLs()
	p.AllowRelativeURLs(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true) // and rel=noopener
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src").Matching(ownPicture).OnElements("img")
	p.AllowAttrs("alt").Matching(bluemonday.Paragraph).OnElements("img")
	p.AllowAttrs("width", "height").Matching(bluemonday.NumberOrPercent).OnElements("img")
	p.AllowElements("p", "div", "span", "br", "hr", "wbr", "blockquote", "pre", "code", "b", "i", "u", "s", "em", "strong", "small",
		"mark", "del", "ins", "sub", "sup", "abbr", "cite", "dfn", "kbd", "samp", "var", "q", "strike", "tt", "bdi", "rp", "rt", "ruby")
	p.AllowLists()
	p.AllowElements("table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th")
	p.AllowAttrs("colspan", "rowspan").Matching(bluemonday.Integer).OnElements("td", "th")
	p.AllowAttrs("scope").Matching(regexp.MustCompile(`^(row|col)$`)).OnElements("th")
	return p
}
