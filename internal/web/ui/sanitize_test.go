package ui

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestSanitized(t *testing.T) {
	link := ` rel="nofollow noreferrer noopener" target="_blank"`
	for name, c := range map[string]struct{ text, want string }{
		"nothing":              {"", ""},
		"plain":                {"a < b & c", "a &lt; b &amp; c"},
		"lines":                {"one\r\ntwo\nthree", "one<br>two<br>three"},
		"markup":               {"<p>Hi <b>there</b></p>", "<p>Hi <b>there</b></p>"},
		"a link":               {`<a href="https://example.com/x">x</a>`, `<a href="https://example.com/x"` + link + `>x</a>`},
		"a link of this site":  {`<a href="assetdetail.v1?oid=Story:1">x</a>`, `<a href="assetdetail.v1?oid=Story:1" rel="nofollow noreferrer">x</a>`},
		"script":               {`a<script>alert(1)</script>b`, "ab"},
		"script in a word":     {`<scr<script>ipt>alert(1)</scr</script>ipt>`, "ipt&gt;alert(1)ipt&gt;"},
		"onerror":              {`<img src=x onerror=alert(1)>`, ""},
		"a quote before it":    {`"><img src=x onerror=alert(1)>`, "&#34;&gt;"},
		"javascript":           {`<a href="javascript:alert(1)">x</a>`, "x"},
		"javascript, hidden":   {"<a href=\" java\tscript:alert(1)\">x</a>", "x"},
		"javascript, entities": {`<a href="&#106;avascript:alert(1)">x</a>`, "x"},
		"vbscript":             {`<a href="vbscript:x">x</a>`, "x"},
		"data link":            {`<a href="data:text/html,<script>alert(1)</script>">x</a>`, "x"},
		"data picture":         {`<img src="data:image/png;base64,AAAA">`, ""},
		"data svg":             {`<img src="data:image/svg+xml,<svg onload=alert(1)>">`, ""},
		"svg":                  {`<svg onload=alert(1)><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>`, "x"},
		"style":                {`<style>body{display:none}</style><p style="position:fixed">x</p>`, "<p>x</p>"},
		"iframe":               {`<iframe src="/alds/ui/"></iframe>x`, "x"},
		"form":                 {`<form action="/alds/ui/sign-out" method="post"><input name="csrf"><button>x</button></form>`, "x"},
		"object":               {`<object data="x"><embed src="y"></object>x`, "x"},
		"base and meta":        {`<base href="//evil"><meta http-equiv="refresh" content="0;url=//evil">x`, "x"},
		"a foreign picture":    {`<img src="https://example.com/p.png" alt="p">`, `<img alt="p"/>`},
		"a foreign picture, 2": {`<img src="//example.com/embedded.img/1" alt="p">`, `<img alt="p"/>`},
		"a picture of here":    {`<img src="embedded.img/12" alt="p" onload="x">`, `<img src="embedded.img/12" alt="p"/>`},
		"a picture with base":  {`<img src="/alds/attachment.img/12">`, `<img src="/alds/attachment.img/12"/>`},
		"many sources":         {`<img src="embedded.img/1" srcset="https://example.com/p.png 2x">`, `<img src="embedded.img/1"/>`},
		"htmx":                 {`<div hx-get="/alds/ui/" hx-trigger="load" data-hx-post="/x">x</div>`, "<div>x</div>"},
		"names and classes":    {`<p id="main" class="unseen" name="csrf">x</p>`, "<p>x</p>"},
		"headings":             {`<h1>x</h1>`, "x"},
		"end of the page":      {`x</div></section></main></body></html><p>y`, "x<p>y</p>"},
		"never closed":         {`<table><tr><td><b>x`, "<table><tbody><tr><td><b>x</b></td></tr></tbody></table>"},
		"a comment":            {`a<!-- <b> -->b`, "ab"},
		"a comment, open":      {`a<!--`, "a"},
		"noscript":             {`<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>`, ""},
		"xmp":                  {`<xmp><p title="</xmp><img src=x onerror=alert(1)>">`, "&lt;p title=&#34;&#34;&gt;"},
		"math and style":       {`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`, ""},
		"svg, style and title": {`<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">`, ""},
		"form in math":         {`<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>`, ""},
		"textarea":             {`<textarea><img title="</textarea><img src=x onerror=alert(1)>"></textarea>`, ""},
		"template":             {`<template><script>alert(1)</script></template>x`, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(Sanitized(c.text))
			if c.want != "" && got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			holds(t, got)
		})
	}
}

// TestSanitizedNests checks that in all nestings no dangerous element or attribute is left and
// all elements are closed.
func TestSanitizedNests(t *testing.T) {
	around := []string{
		"<p>%</p>", "<table>%", "<select>%</select>", "<svg>%</svg>", "<math>%", "<title>%</title>", "<style>%</style>", "<a href='%'>x</a>",
		"<b><i>%</b></i>", "<!--%-->", "<svg><style>%", "<math><annotation-xml encoding='text/html'>%", "<noscript>%</noscript>", "<![CDATA[%]]>", "<?%?>", "<p title=\"%\">",
	}
	core := []string{`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><img src=x onerror=alert(1)>`, `<a href=javascript:alert(1)>x</a>`, `--><iframe src=//x>`, `</div></main>`}
	for _, a := range around {
		for _, b := range around {
			for _, c := range core {
				holds(t, string(Sanitized(strings.Replace(a, "%", strings.Replace(b, "%", c, 1), 1))))
			}
		}
	}
	holds(t, string(Sanitized(strings.Repeat("<b>", 2000)+"x")))
	if long := Sanitized(strings.Repeat("<b>x</b>", maxMarkup)); len(long) > 4*maxMarkup {
		t.Errorf("a long text becomes %d bytes", len(long))
	}
}

var runs = regexp.MustCompile(`^(on|style|srcdoc|id|class|name|hx-|data-|form|action)`)

// holds checks that the text has no dangerous element or attribute and that its elements are
// balanced. It uses the tokenizer of an HTML parser.
func holds(t *testing.T, text string) {
	t.Helper()
	open := 0
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		one := z.Token()
		switch kind {
		case html.StartTagToken:
			if one.Data != "br" && one.Data != "img" && one.Data != "hr" && one.Data != "wbr" {
				open++
			}
			switch one.Data {
			case "script", "style", "iframe", "form", "input", "button", "svg", "math", "object", "embed", "base", "meta", "link", "template", "noscript", "h1", "section":
				t.Errorf("<%s> in %s", one.Data, text)
			}
		case html.EndTagToken:
			if open--; open < 0 {
				t.Errorf("</%s> closes what it did not open: %s", one.Data, text)
			}
		}
		for _, a := range one.Attr {
			value := strings.ToLower(strings.TrimSpace(a.Val))
			if runs.MatchString(a.Key) || strings.HasPrefix(value, "javascript:") || strings.HasPrefix(value, "data:") || a.Key == "src" && !ownPicture.MatchString(a.Val) {
				t.Errorf("%s=%q in %s", a.Key, a.Val, text)
			}
		}
	}
	if open != 0 {
		t.Errorf("%d elements stay open: %s", open, text)
	}
}
