package document

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/base/fault"
)

type jsonParser struct {
	builder
	dec  *jsontext.Decoder
	text string // the whole body; strings without escapes are slices of it
	skip int    // number of bytes at the start of text that the decoder does not get (a byte order mark)
}

func parseJSON(body []byte, skip int) (Node, error) {
	p := &jsonParser{dec: jsontext.NewDecoder(bytes.NewBuffer(body[skip:])), text: string(body), skip: skip}
	n, err := p.value(0)
	if err != nil {
		return Node{}, p.fail(err)
	}
	switch _, err := p.dec.ReadToken(); {
	case err == nil:
		return Node{}, fault.Invalidf(p.offset()-1, "Invalid JSON at byte %d: more than one value.", p.offset()-1)
	case !errors.Is(err, io.EOF):
		return Node{}, p.fail(err)
	}
	return n, nil
}

// offset returns the byte offset in the body of the end of the last token.
func (p *jsonParser) offset() int { return p.skip + int(p.dec.InputOffset()) }

func (p *jsonParser) value(depth int) (Node, error) {
	if p.count++; p.count > MaxNodes {
		return Node{}, tooMany(p.offset())
	}
	switch kind := p.dec.PeekKind(); kind {
	case '{', '[':
		if depth == MaxDepth {
			return Node{}, tooDeep(p.offset())
		}
		if _, err := p.dec.ReadToken(); err != nil {
			return Node{}, err
		}
		if kind == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	default:
		return p.scalar()
	}
}

func (p *jsonParser) object(depth int) (Node, error) {
	at, firstNode, firstKey := p.offset()-1, len(p.nodes), len(p.keys)
	for p.dec.PeekKind() == '"' {
		raw, err := p.dec.ReadValue()
		if err != nil {
			return Node{}, err
		}
		key, err := p.unquote(raw)
		if err != nil {
			return Node{}, err
		}
		p.keys = append(p.keys, key)
		n, err := p.value(depth + 1)
		if err != nil {
			return Node{}, err
		}
		p.nodes = append(p.nodes, n)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return Node{}, err
	}
	return p.close(Map, at, firstNode, firstKey), nil
}

func (p *jsonParser) array(depth int) (Node, error) {
	at, firstNode, firstKey := p.offset()-1, len(p.nodes), len(p.keys)
	for {
		kind := p.dec.PeekKind()
		if kind == ']' || kind == 0 { // 0: an error, which ReadToken returns
			break
		}
		n, err := p.value(depth + 1)
		if err != nil {
			return Node{}, err
		}
		p.nodes = append(p.nodes, n)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return Node{}, err
	}
	return p.close(List, at, firstNode, firstKey), nil
}

func (p *jsonParser) scalar() (Node, error) {
	raw, err := p.dec.ReadValue()
	if err != nil {
		return Node{}, err
	}
	at := p.offset() - len(raw)
	switch raw.Kind() {
	case 'n':
		return Node{Kind: Null, At: at}, nil
	case 't', 'f':
		return Node{Kind: Bool, Text: p.text[at : at+len(raw)], At: at}, nil
	case '"':
		text, err := p.unquote(raw)
		n := Node{Kind: String, Text: text, At: at + 1}
		if len(text) != len(raw)-2 {
			n.Written = &Written{p.text[at+1 : at+len(raw)-1], '"'}
		}
		return n, err
	default:
		return Node{Kind: Number, Text: p.text[at : at+len(raw)], At: at}, nil
	}
}

// unquote returns the string of raw, which is the last token that was read.
func (p *jsonParser) unquote(raw jsontext.Value) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		end := p.offset()
		return p.text[end-len(raw)+1 : end-1], nil
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err
}

// fail converts the decoder's error to a fault with the place in the body.
func (p *jsonParser) fail(err error) error {
	if fault.KindOf(err) == fault.Invalid {
		return err
	}
	at := p.offset()
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if ok {
		at = p.skip + int(syntax.ByteOffset)
		err = syntax.Err
	}
	at = max(0, min(at, len(p.text)))
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fault.Invalidf(at, "Invalid JSON at byte %d: it ends too early.", at)
	}
	return fault.Invalidf(at, "Invalid JSON at byte %d: %s.", at, strings.TrimPrefix(err.Error(), "jsontext: "))
}
