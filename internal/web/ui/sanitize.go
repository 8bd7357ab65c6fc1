package ui

import (
	"html/template"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxMarkup limits the bytes of a text that are parsed as HTML. A longer text is cut off and
// shown as plain text.
const maxMarkup = 256 << 10

// hasMarkup matches an HTML element, comment or character reference. Text without any of them
// is plain text.
var hasMarkup = regexp.MustCompile(`</?[a-zA-Z]|<!--|&(#\d+|#[xX][0-9a-fA-F]+|\w+);`)

// Sanitized returns user text, which may contain HTML, as safe HTML. It removes everything
// that could run, load, send data or appear outside its place on the page.
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

// maxReopened limits the elements that the parser may have to open again. An HTML parser
// reopens all unclosed formatting elements in each block that follows. Without a limit, a few
// kilobytes could become gigabytes.
const maxReopened = 10_000

// formatting has the elements that an HTML parser reopens.
var formatting = map[atom.Atom]bool{
	atom.A: true, atom.B: true, atom.Big: true, atom.Code: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Nobr: true, atom.S: true,
	atom.Small: true, atom.Strike: true, atom.Strong: true, atom.Tt: true, atom.U: true,
}

// reopened returns an upper bound of the elements that an HTML parser has to open again.
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

// asWritten shows a text as plain text, with its line breaks.
func asWritten(text string) template.HTML {
	lines := strings.ReplaceAll(template.HTMLEscapeString(text), "\r\n", "\n")
	return template.HTML(strings.ReplaceAll(lines, "\n", "<br>"))
}

// balanced closes all open elements and drops end tags without a start tag. The policy does
// not do this.
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

// markup is the policy for user text. It runs last, so that only the browser parses its
// output.
var markup = markupPolicy()

// ownPicture matches the URL of an attachment or embedded image of this service.
var ownPicture = regexp.MustCompile(`^(/[\w.~-]+/)?(embedded|attachment)(\.oauth)?\.img/\d+$`)

// markupPolicy is the bluemonday policy for user content, without everything that affects the
// surrounding page: ids and names, headings, sections and images from other hosts.
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
