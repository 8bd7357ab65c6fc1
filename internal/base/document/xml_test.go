package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
)

// showXML returns a tree as text that contains every part of the tree.
func showXML(e Element) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<%s@%d", e.Name, e.At)
	for _, a := range e.Attrs {
		fmt.Fprintf(&b, " %s=%q@%d", a.Name, a.Value, a.At)
	}
	fmt.Fprintf(&b, " %q@%d", e.Text, e.TextAt)
	for _, c := range e.Children {
		b.WriteString(" " + showXML(c))
	}
	return b.String() + ">"
}

func TestParseXML(t *testing.T) {
	for what, c := range map[string]struct{ body, want string }{
		"an empty element":             {`<a/>`, `<a@0 ""@0>`},
		"one with an end":              {`<a></a>`, `<a@0 ""@0>`},
		"an end with white space":      {"<a></a\n>", `<a@0 ""@0>`},
		"a text":                       {`<a>x</a>`, `<a@0 "x"@3>`},
		"attributes":                   {`<a b="1" c = '2'/>`, `<a@0 b="1"@6 c="2"@14 ""@0>`},
		"quotes in attributes":         {`<a b="'>'" c='"/'/>`, `<a@0 b="'>'"@6 c="\"/"@14 ""@0>`},
		"references":                   {`<a b="&lt;&#65;">&amp;&#x42;&gt;</a>`, `<a@0 b="<A"@6 "&B>"@17>`},
		"white space around elements":  {"<a>\n  <b>x</b>\r\n  <c/>\n</a>\n", `<a@0 ""@0 <b@6 "x"@9> <c@18 ""@18>>`},
		"white space alone":            {`<a> </a>`, `<a@0 " "@3>`},
		"white space around a text":    {"<a> x\n</a>", `<a@0 " x\n"@3>`},
		"line ends":                    {"<a>x\r\ny\rz</a>", `<a@0 "x\ny\nz"@3>`},
		"a return that is written":     {"<a>x&#13;&#10;y</a>", `<a@0 "x\r\ny"@3>`},
		"CDATA":                        {`<a><![CDATA[<b>&amp;]]]></a>`, `<a@0 "<b>&amp;]"@12>`},
		"an empty CDATA":               {`<a><![CDATA[]]></a>`, `<a@0 ""@0>`},
		"a text in parts":              {`<a>x<!-- y --><![CDATA[&]]>&lt;<?z?>!</a>`, `<a@0 "x&<!"@3>`},
		"a part that is empty first":   {`<a><![CDATA[]]>x</a>`, `<a@0 "x"@15>`},
		"a CDATA of white space":       {`<a><![CDATA[ ]]><b/></a>`, `<a@0 ""@0 <b@16 ""@16>>`},
		"comments and instructions":    {`<?p q?><!-- <b> --><a><!----><?r?><b/></a><!-- --><?s?>`, `<a@19 ""@19 <b@34 ""@34>>`},
		"a declaration":                {`<?xml version="1.0" encoding="UTF-8" standalone="yes"?><a/>`, `<a@55 ""@55>`},
		"utf-8 in other letters":       {`<?xml version="1.0" encoding="uTf-8"?><a/>`, `<a@38 ""@38>`},
		"UTF-16 that is none":          {`<?xml version="1.0" encoding="utf-16"?><a>é</a>`, `<a@39 "é"@42>`},
		"ASCII":                        {`<?xml version='1.0' encoding='US-ASCII'?><a/>`, `<a@41 ""@41>`},
		"a byte order mark":            {"\xef\xbb\xbf<a b='c'>d</a>", `<a@3 b="c"@9 "d"@12>`},
		"white space in front":         {" \r\n<a/>", `<a@3 ""@3>`},
		"prefixes":                     {`<p:a xmlns:p="u" xmlns="v" p:b="1" b="2"><c/></p:a>`, `<a@0 xmlns:p="u"@14 xmlns="v"@24 p:b="1"@32 b="2"@38 ""@0 <c@41 ""@41>>`},
		"characters of four bytes":     {`<a>🍎<b/></a>`, `3 an element has both`},
		"all that is no ASCII":         {`<é ü="ß">🍎</é>`, `<é@0 ü="ß"@8 "🍎"@12>`},
		"16 attributes":                {`<a ` + attributes(16) + `/>`, `<a@0`},
		"a hundred within each other":  {strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100), `<a@0`},
		"children behind each other":   {`<a><b><c>1</c></b><b><c>2</c><d/></b></a>`, `<a@0 ""@0 <b@3 ""@3 <c@6 "1"@9>> <b@18 ""@18 <c@21 "2"@24> <d@29 ""@29>>>`},
		"greater than in a text":       {`<a>1 > 0</a>`, `<a@0 "1 > 0"@3>`},
		"an ampersand that is written": {`<a b="x&amp;lt;"/>`, `<a@0 b="x&lt;"@6 ""@0>`},
	} {
		e, err := ParseXML([]byte(c.body))
		got := showXML(e)
		if err != nil {
			got = fmt.Sprintf("%d %s", fault.Place(err), strings.TrimPrefix(fault.Public(err), fmt.Sprintf("Invalid XML at byte %d: ", fault.Place(err))))
		}
		if !strings.HasPrefix(got, c.want) || strings.HasSuffix(c.want, ">") && got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ` a%d="x"`, i)
	}
	return b.String()
}

// TestRefusedXML checks the errors of bodies that are refused. In each case a "^" marks the place of
// the error; it is not part of the body.
func TestRefusedXML(t *testing.T) {
	const dtd = "a document type is not accepted"
	for what, c := range map[string]struct{ body, want string }{
		"nothing":                            {"^", "The body is empty."},
		"only spaces":                        {"^ \n", "The body is empty."},
		"only a comment":                     {"<!-- x -->^", "it ends too early"},
		"only a declaration":                 {`<?xml version="1.0"?>^`, "it ends too early"},
		"an element without an end":          {"<a><b></b>^", "it ends too early"},
		"a tag without an end":               {"<a b='c'^", "it ends too early"},
		"a value without an end":             {"<a b='c^", "it ends too early"},
		"a comment without an end":           {"<a/><!-- x^", "it ends too early"},
		"a CDATA without an end":             {"<a><![CDATA[x]]^", "it ends too early"},
		"an instruction without an end":      {"<?xml ^", "it ends too early"},
		"only a bracket":                     {"<^", "it ends too early"},
		"bad UTF-8":                          {"<a>^\xff</a>", "The body is not valid UTF-8 at byte 3."},
		"UTF-16":                             {"^\xff\xfe<\x00a\x00/\x00>\x00", "The body is not valid UTF-8 at byte 0."},
		"bytes of another declared encoding": {"<?xml version='1.0' encoding='iso-8859-1'?><a>^\xe9</a>", "The body is not valid UTF-8 at byte 46."},
		"another declared encoding":          {"\xef\xbb\xbf^<?xml version='1.0' encoding='iso-8859-1'?><a/>", "the encoding iso-8859-1 is not accepted, send UTF-8"},
		"a long declared encoding":           {"^<?xml version='1.0' encoding='" + strings.Repeat("é", 5000) + "'?><a/>", "the encoding " + strings.Repeat("é", 500) + "… is not accepted, send UTF-8"},
		"another version":                    {"^<?xml version='1.1'?><a/>", `unsupported version "1.1"; only version 1.0 is supported`},
		"a document type":                    {"<?xml version='1.0'?>\n^<!DOCTYPE a><a/>", dtd},
		"an entity":                          {`^<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, dtd},
		"an external entity":                 {`^<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>`, dtd},
		"a parameter entity":                 {`^<!DOCTYPE a [<!ENTITY % b SYSTEM "http://localhost/"> %b;]><a/>`, dtd},
		"a document type behind the root":    {"<a/>^<!DOCTYPE a>", dtd},
		"a document type without an end":     {"^<!DOCTYPE a [", dtd},
		"an entity inside of the root":       {"<a>^<!ENTITY b 'c'></a>", dtd},
		"a section that is no CDATA":         {"<a><![C^data[x]]></a>", "invalid <![ sequence"},
		"an unknown entity":                  {"<a>x^&nbsp;</a>", "the entity &nbsp; is not accepted, only &lt; &gt; &amp; &apos; &quot; and characters by number"},
		"an unknown entity in an attribute":  {"<a b='^&b;'/>", "the entity &b; is not accepted, only &lt; &gt; &amp; &apos; &quot; and characters by number"},
		"an ampersand":                       {"<a>x ^& y</a>", "& stands for no character"},
		"an ampersand at the end":            {"<a>x ^&</a>", "& stands for no character"},
		"an entity without its end":          {"<a>^&lt x</a>", "&lt stands for no character"},
		"a character beyond Unicode":         {"<a>^&#x110000;</a>", "&#x110000; stands for no character"},
		"a number without digits":            {"<a>^&#;</a>", "&#; stands for no character"},
		"NUL":                                {"<a>x^\x00</a>", "illegal character code U+0000"},
		"NUL by its number":                  {"<a>&#65;x^&#0;</a>", "illegal character code U+0000"},
		"NUL in an attribute":                {"<a b='x^\x00'/>", "illegal character code U+0000"},
		"a control character":                {"<a>\r\n\t^\x01</a>", "illegal character code U+0001"},
		"no character":                       {"<a>é^\uffff</a>", "illegal character code U+FFFF"},
		"a surrogate":                        {"<a>&#xfffd;^&#xd800;</a>", "&#xd800; stands for no character"},
		"a surrogate in an attribute":        {"<a b='&#65;' c='^&#56320;'/>", "&#56320; stands for no character"},
		"17 attributes":                      {"<a " + attributes(16) + ` z="^1"/>`, "an element may have 16 attributes at most"},
		"a million attributes":               {"<a " + attributes(16) + ` a16="^x" ` + strings.Repeat("a=''", 1_000_000), "an element may have 16 attributes at most"},
		"an attribute twice":                 {`<a b="1" c="2" b="^3"/>`, "the attribute b comes twice"},
		"an attribute twice with its prefix": {`<a p:b="1" b="2" p:b="^3"/>`, "the attribute p:b comes twice"},
		"an attribute without a value":       {"<a b^/>", "attribute name without = in element"},
		"an attribute without quotes":        {"<a b=^c/>", "unquoted or missing attribute value in element"},
		"a bracket in an attribute":          {`<a b="^<"/>`, "unescaped < inside quoted string"},
		"the end of a CDATA in a text":       {"<a>x^]]></a>", "unescaped ]]> not in CDATA section"},
		"wrong nesting":                      {"<a><b>^</a></b>", "<b> is closed by </a>"},
		"another prefix at the end":          {"<p:a>^</q:a>", "<p:a> is closed by </q:a>"},
		"an end too many":                    {"<a/>^</a>", "</a> closes nothing"},
		"an end alone":                       {"^</a>", "</a> closes nothing"},
		"two roots":                          {"<a/>^<b/>", "there is more than one root element"},
		"a text behind the root":             {"<a/> ^x", "there is text outside of the root element"},
		"a text in front of the root":        {"^x<a/>", "there is text outside of the root element"},
		"a CDATA behind the root":            {"<a/><![CDATA[^]]>", "there is text outside of the root element"},
		"a text in front of an element":      {"<a> ^x<b/></a>", "an element has both text and elements"},
		"a text behind an element":           {"<a><b/>\n^x</a>", "an element has both text and elements"},
		"a text in parts around a comment":   {"<a> <!-- --> <![CDATA[ ^x]]><b/></a>", "an element has both text and elements"},
		"a reference beside an element":      {"<a> ^&lt;<b/></a>", "an element has both text and elements"},
		"101 within each other":              {strings.Repeat("<a>", 100) + "^<a/>" + strings.Repeat("</a>", 100), "The body is nested deeper than 100 levels."},
		"a million within each other":        {strings.Repeat("<a>", 100) + "^" + strings.Repeat("<a>", 1_000_000), "The body is nested deeper than 100 levels."},
		"more than a body may have":          {"<a>" + strings.Repeat("<b/>", MaxNodes-1) + "^<b/></a>", "The body has more than 2000000 values."},
		"a name that is none":                {"<a><^1/></a>", "invalid XML name: 1"},
		"a bracket in a text":                {"<a>1 <^ 2</a>", "expected element name after <"},
		"a long name":                        {"<a>^</" + strings.Repeat("b", 5000) + "></a>", "<a> is closed by </" + strings.Repeat("b", 1000) + "…>"},
		"two colons":                         {"<a:b:c^/>", "expected element name after <"},
		"JSON":                               {`^{"Attributes": {}}`, "there is text outside of the root element"},
	} {
		place := strings.IndexByte(c.body, '^')
		body := c.body[:place] + c.body[place+1:]
		_, err := ParseXML([]byte(body))
		if !strings.HasPrefix(c.want, "The body") {
			c.want = fmt.Sprintf("Invalid XML at byte %d: %s.", place, c.want)
		}
		if fault.KindOf(err) != fault.Invalid || fault.Public(err) != c.want || fault.Place(err) != place {
			t.Errorf("%s: %d %s (%s), want %d %s", what, fault.Place(err), fault.Public(err), fault.KindOf(err), place, c.want)
		}
	}
}

func TestIsXML(t *testing.T) {
	for body, want := range map[string]bool{
		"<a/>": true, " \r\n\t<a/>": true, "\xef\xbb\xbf<a/>": true, "\xef\xbb\xbf\n<a/>": true, "<": true,
		"": false, " ": false, "{}": false, "[1]": false, "a: <b/>": false, "\xef\xbb\xbf": false, `"<a/>"`: false,
	} {
		if got := IsXML([]byte(body)); got != want {
			t.Errorf("IsXML(%q) = %v", body, got)
		}
	}
}

// checkXML fails the test if an offset in a tree is outside the body, or if the body has another text
// there.
func checkXML(t *testing.T, e Element, body []byte) {
	t.Helper()
	holds := func(at int, text string) bool {
		return at < len(body) && (text == "" || body[at] == text[0] || body[at] == '&' || body[at] == '\r' && text[0] == '\n')
	}
	if e.At < 0 || !holds(e.At, "<") || e.Text == "" && e.TextAt != e.At || !holds(e.TextAt, e.Text) || e.Text != "" && len(e.Children) > 0 {
		t.Fatalf("malformed element %+v of %q", e, body)
	}
	for _, a := range e.Attrs {
		if quote := body[a.At-1]; quote != '"' && quote != '\'' || !holds(a.At, a.Value) {
			t.Fatalf("malformed attribute %+v of %q", a, body)
		}
	}
	for _, c := range e.Children {
		checkXML(t, c, body)
	}
}

func FuzzXML(f *testing.F) {
	for _, s := range []string{
		`<Asset id="Story:1"><Attribute name="Name" act="set">x</Attribute><Relation name="Owners"><Asset idref="Member:20" act="add"/></Relation></Asset>`,
		"<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n<a>\r\n<b><![CDATA[<&]]></b>\r\n</a>", "\xef\xbb\xbf<a>&lt;&#x41;</a>", "<a><!-- - --><?p q?>x</a>",
		`<!DOCTYPE a [<!ENTITY b "&c;">]><a>&b;</a>`, "<p:a xmlns:p='u' p:b='1'/>", "<a b='1' b='2'/>", "<a><b></a></b>", "<a/><b/>", "<a>x<b/></a>",
		"<a>]]></a>", "<a>&#0;</a>", "<a>&#13;\r</a>", "<a/ >", "<a b='<'>", "</a>", "<", "<!", "<![CDATA[", "<?", "<!--", "<a b = \"'>/\" c='/'/>",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := ParseXML(body)
		if err != nil {
			if at := fault.Place(err); fault.KindOf(err) != fault.Invalid || at < 0 || at > len(body) {
				t.Fatalf("malformed error %#v of %q", err, body)
			}
			return
		}
		checkXML(t, e, body)
		if need := MemoryNeed(body, XML); need < int64(countXML(e))*costElement {
			t.Fatalf("%d bytes for %q", need, body)
		}
		same := xml.NewDecoder(strings.NewReader(string(body)))
		same.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
		for {
			if _, err := same.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("%q is no XML: %v", body, err)
			}
		}
	})
}

func countXML(e Element) int {
	n := 1
	for _, c := range e.Children {
		n += countXML(c)
	}
	return n
}

func assetsXML(n int) []byte {
	var b strings.Builder
	b.WriteString(`<Asset>`)
	for i := range n {
		fmt.Fprintf(&b, `<Attribute name="Name%d" act="set">Story number %d of the load</Attribute><Relation name="Owners%d"><Asset idref="Member:20" act="add"/>`+
			`<Asset idref="Member:1002" act="add"/></Relation><Attribute name="Description%d" act="set">&lt;p&gt;%s&lt;/p&gt;</Attribute>`, i, i, i, i, strings.Repeat("some words ", 8))
	}
	b.WriteString(`</Asset>`)
	return []byte(b.String())
}

func BenchmarkParseXML(b *testing.B) {
	body := assetsXML(10_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseXML(body); err != nil {
			b.Fatal(err)
		}
	}
}
