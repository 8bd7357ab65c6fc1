package document

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

// Element is one element of an XML document.
type Element struct {
	Name     string // name without its prefix
	Attrs    []Attr
	Children []Element
	Text     string // text of an element without children, including white space
	At       int    // byte offset of the "<" of the element
	TextAt   int    // byte offset of Text, or At if there is no text
}

// Attr is one attribute of an element.
type Attr struct {
	Name  string // name with its prefix
	Value string
	At    int // byte offset of the value, after its quote
}

// Get returns an attribute by its name. Upper and lower case differ.
func (e *Element) Get(name string) (Attr, bool) {
	for _, a := range e.Attrs {
		if a.Name == name {
			return a, true
		}
	}
	return Attr{}, false
}

const (
	xmlSpaces = " \t\r\n"
	cdata     = "<![CDATA["
)

// IsXML reports whether a body is XML: it begins with "<", which no JSON does.
func IsXML(body []byte) bool {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, byteOrderMark), xmlSpaces)
	return len(body) > 0 && body[0] == '<'
}

// ParseXML reads one XML document and returns its root. It drops comments, processing
// instructions and white space between elements. It refuses a document type, so only XML's
// built-in entities exist.
//
// The text must be UTF-8. Its XML declaration may also name UTF-16, because some programs write
// this declaration and then send the text as UTF-8.
// Errors: fault.Invalid with the byte offset.
func ParseXML(body []byte) (Element, error) {
	skip, err := start(body)
	if err != nil {
		return Element{}, err
	}
	p := &xmlParser{dec: xml.NewDecoder(bytes.NewReader(body[skip:])), text: string(body), skip: skip}
	p.dec.CharsetReader = p.charset
	for {
		err := p.next()
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return Element{}, p.fail(err)
		case p.root == nil:
			return Element{}, p.endsTooEarly()
		default:
			return *p.root, nil
		}
	}
}

type xmlParser struct {
	dec    *xml.Decoder
	text   string // the whole body; unescaped texts are slices of it
	skip   int    // number of bytes at the start of text that the decoder does not get (a byte order mark)
	at     int    // byte offset of the current token
	places []int  // byte offsets of the attribute values in the current tag
	count  int
	root   *Element // set when the root element is closed

	open   []openElement
	closed []Element // children of open elements
	found  []Attr    // attributes of the current tag

	elements arena[Element]
	attrs    arena[Attr]
}

// openElement is an element whose end tag was not read yet.
type openElement struct {
	Element
	name  xml.Name // name with its prefix
	first int      // index in closed of its first child
	word  int      // byte offset of the first text other than white space; 0: none
	parts []byte   // the text, if it has several parts
}

// offset returns the byte offset in the body of the end of the last token.
func (p *xmlParser) offset() int { return p.skip + int(p.dec.InputOffset()) }

// next reads one token.
// Errors: io.EOF after the last token.
func (p *xmlParser) next() error {
	p.at = p.offset()
	if err := p.lookAhead(); err != nil {
		return err
	}
	token, err := p.dec.RawToken()
	if err != nil {
		return err
	}
	if err := p.surrogate(token); err != nil {
		return err
	}
	switch t := token.(type) {
	case xml.StartElement:
		if err := p.begin(t); err != nil || p.text[p.offset()-2] != '/' {
			return err
		}
		if _, err := p.dec.RawToken(); err != nil { // the end of <x/>
			return err
		}
		return p.end(t.Name)
	case xml.EndElement:
		return p.end(t.Name)
	case xml.CharData:
		return p.characters(t)
	}
	return nil
}

// lookAhead refuses a document type, and a tag with more than MaxAttrs attributes, before the decoder
// reads it. It also finds the offsets of the attribute values in a tag, which the decoder does not
// report.
func (p *xmlParser) lookAhead() error {
	p.places = p.places[:0]
	rest := p.text[p.at:]
	switch {
	case !strings.HasPrefix(rest, "<"), strings.HasPrefix(rest, "</"), strings.HasPrefix(rest, "<?"),
		strings.HasPrefix(rest, "<!--"), strings.HasPrefix(rest, "<!["):
		return nil
	case strings.HasPrefix(rest, "<!"):
		return invalidXML(p.at, "a document type is not accepted")
	}
	for i := 1; ; {
		n := strings.IndexAny(rest[i:], `"'>`)
		if n < 0 || rest[i+n] == '>' {
			return nil
		}
		i += n + 1
		if len(p.places) == MaxAttrs {
			return invalidXML(p.at+i, "an element may have %d attributes at most", MaxAttrs)
		}
		p.places = append(p.places, p.at+i)
		end := strings.IndexByte(rest[i:], rest[i-1])
		if end < 0 {
			return nil // the decoder will return the error
		}
		i += end + 1
	}
}

// begin opens an element.
func (p *xmlParser) begin(t xml.StartElement) error {
	switch p.count += 1 + len(t.Attr); {
	case p.root != nil:
		return invalidXML(p.at, "there is more than one root element")
	case len(p.open) == MaxDepth:
		return tooDeep(p.at)
	case p.count > MaxNodes:
		return tooMany(p.at)
	}
	if len(p.open) > 0 {
		parent := &p.open[len(p.open)-1]
		if parent.word > 0 {
			return mixed(parent.word)
		}
		parent.Text, parent.parts = "", nil
	}
	attrs, err := p.attributes(t.Attr)
	p.open = append(p.open, openElement{
		Element: Element{Name: t.Name.Local, Attrs: attrs, At: p.at}, name: t.Name, first: len(p.closed),
	})
	return err
}

func (p *xmlParser) attributes(all []xml.Attr) ([]Attr, error) {
	p.found = p.found[:0]
	for i, a := range all {
		at, name := p.places[i], written(a.Name)
		if slices.ContainsFunc(p.found, func(other Attr) bool { return other.Name == name }) {
			return nil, invalidXML(at, "the attribute %s comes twice", name)
		}
		p.found = append(p.found, Attr{Name: name, Value: cut(p.text, at, a.Value), At: at})
	}
	return p.attrs.copy(p.found), nil
}

// cut returns data as a string. at is the offset in the body where data was read. If the body has the
// same bytes there, cut returns a slice of the body and needs no memory. An escaped text is never
// shorter than its value, so the slice is in range.
func cut[T string | []byte](body string, at int, data T) string {
	if s := body[at : at+len(data)]; s == string(data) {
		return s
	}
	return string(data)
}

// end closes the element that was opened last.
func (p *xmlParser) end(name xml.Name) error {
	if len(p.open) == 0 {
		return invalidXML(p.at, "</%s> closes nothing", written(name))
	}
	o := p.open[len(p.open)-1]
	if o.name != name {
		return invalidXML(p.at, "<%s> is closed by </%s>", written(o.name), written(name))
	}
	e := o.Element
	e.Children = p.elements.copy(p.closed[o.first:])
	if o.parts != nil {
		e.Text = string(o.parts)
	}
	if e.Text == "" {
		e.TextAt = e.At
	}
	p.open, p.closed = p.open[:len(p.open)-1], p.closed[:o.first]
	if len(p.open) == 0 {
		p.root = &e
	} else {
		p.closed = append(p.closed, e)
	}
	return nil
}

// characters adds a piece of text to the current element.
func (p *xmlParser) characters(data []byte) error {
	at, raw := p.at, p.text[p.at:p.offset()]
	isCDATA := strings.HasPrefix(raw, cdata)
	if isCDATA {
		at, raw = at+len(cdata), raw[len(cdata):]
	}
	word := at + len(raw) - len(strings.TrimLeft(raw, xmlSpaces))
	isBlank := len(bytes.TrimLeft(data, xmlSpaces)) == 0
	if len(p.open) == 0 {
		if isBlank && !isCDATA {
			return nil
		}
		return invalidXML(word, "there is text outside of the root element")
	}
	e := &p.open[len(p.open)-1]
	hasChildren := len(p.closed) > e.first
	switch {
	case hasChildren && !isBlank:
		return mixed(word)
	case hasChildren || len(data) == 0:
		return nil
	case e.parts != nil:
		e.parts = append(e.parts, data...)
	case e.Text != "":
		e.parts = append([]byte(e.Text), data...)
	default:
		e.Text, e.TextAt = cut(p.text, at, data), at
	}
	if e.word == 0 && !isBlank {
		e.word = word
	}
	return nil
}

// charset accepts the encodings that may be declared for a UTF-8 text.
func (p *xmlParser) charset(name string, body io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "utf-16", "us-ascii":
		return body, nil
	}
	return nil, invalidXML(p.at, "the encoding %s is not accepted, send UTF-8", name)
}

// written returns a name with its prefix, as in the text.
func written(name xml.Name) string {
	if name.Space == "" {
		return name.Local
	}
	return name.Space + ":" + name.Local
}
