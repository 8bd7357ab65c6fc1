package value

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestXML(t *testing.T) {
	for _, c := range []struct{ s, text, attr string }{
		{"", "", ""},
		{"Story", "Story", "Story"},
		{"a & b", "a &amp; b", "a &amp; b"},
		{"<b>&amp;</b>", "&lt;b&gt;&amp;amp;&lt;/b&gt;", "&lt;b&gt;&amp;amp;&lt;/b&gt;"},
		{"]]>", "]]&gt;", "]]&gt;"},
		{`"it's"`, `"it's"`, `&quot;it's&quot;`},
		{"a\tb\nc", "a\tb\nc", "a&#x9;b&#xA;c"},
		{"a\r\nb\r", "a&#xD;\nb&#xD;", "a&#xD;&#xA;b&#xD;"},
		{"\x00a\x1f\x7f", "\uFFFDa\uFFFD\x7f", "\uFFFDa\uFFFD\x7f"},
		{"é€😀\u0085\u2028", "é€😀\u0085\u2028", "é€😀\u0085\u2028"},
		{"a\uFFFDb", "a\uFFFDb", "a\uFFFDb"},
		{"\uFFFE<\uFFFF", "\uFFFD&lt;\uFFFD", "\uFFFD&lt;\uFFFD"},
		{"\xffa\xc3", "\uFFFDa\uFFFD", "\uFFFDa\uFFFD"},
		{"\xed\xa0\x80é", "\uFFFD\uFFFD\uFFFDé", "\uFFFD\uFFFD\uFFFDé"}, // a surrogate
		{"\xf0\x9f\x98", "\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD"},    // the end is missing
	} {
		if got := string(AppendXML([]byte("x"), c.s)); got != "x"+c.text {
			t.Errorf("%q as text: %q, want %q", c.s, got, c.text)
		}
		if got := string(AppendXMLAttr([]byte("x"), []byte(c.s))); got != "x"+c.attr {
			t.Errorf("%q as attribute: %q, want %q", c.s, got, c.attr)
		}
	}
}

// TestXMLIsReadAsItWas checks that a parser reads every character back. It reads U+FFFD for a
// character that XML does not allow.
func TestXMLIsReadAsItWas(t *testing.T) {
	var all, want strings.Builder
	for r := range rune(utf8.MaxRune + 1) {
		all.WriteRune(r)
		if r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == 0xFFFE || r == 0xFFFF {
			r = utf8.RuneError
		}
		want.WriteRune(r)
	}
	text := AppendXMLAttr([]byte(`<x attr="`), all.String())
	text = AppendXML(append(text, `">`...), all.String())
	var got struct {
		Attr string `xml:"attr,attr"`
		Text string `xml:",chardata"`
	}
	if err := xml.Unmarshal(append(text, `</x>`...), &got); err != nil {
		t.Fatal(err)
	}
	if got.Attr != want.String() || got.Text != want.String() {
		t.Error("it is read as something else")
	}
}

func BenchmarkAppendXML(b *testing.B) {
	for name, s := range map[string]string{
		"token":   "AttributeDefinition'Owners'Story",
		"markup":  strings.Repeat("<p>One & two</p>\n", 64),
		"prose":   strings.Repeat("a sentence without any of it. ", 32),
		"foreign": strings.Repeat("Größe für 日本語 ", 32),
	} {
		b.Run(fmt.Sprintf("%s=%d", name, len(s)), func(b *testing.B) {
			var w []byte
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				w = AppendXML(w[:0], s)
			}
		})
	}
}
