package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lines is a source with one JSON object in each line.
type lines struct {
	r    *bufio.Reader
	line int
}

func (l *lines) head() []byte   { return nil }
func (l *lines) suffix() string { return ".jsonl" }

// next reads the next line that is not empty.
func (l *lines) next() (record, error) {
	for {
		text, err := l.read()
		if errors.Is(err, io.EOF) && len(text) == 0 || err != nil && !errors.Is(err, io.EOF) {
			return record{}, err
		}
		l.line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		rec := record{line: l.line, raw: text}
		if len(text) > maxRecord {
			rec.raw, rec.err = nil, errLineTooLong
			return rec, nil
		}
		rec.fields, rec.err = fieldsOf(text)
		return rec, nil
	}
}

var (
	errLineTooLong = fmt.Errorf("the line is longer than %d MiB;"+
		" it is not written to the file of rejected records", maxRecord>>20)
	errTooManyValues = fmt.Errorf("the record has more than %d values", maxValues)
)

// read returns a line with its newline. If the line is longer than maxRecord bytes, read returns
// only its beginning, which has little more than maxRecord bytes. Errors: io.EOF at the end of the
// file, also together with a last line without newline.
func (l *lines) read() ([]byte, error) {
	var text []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(text) <= maxRecord {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// fieldsOf reads a JSON object. Each member becomes a column with one value.
func fieldsOf(text []byte) (map[string][]any, error) {
	if err := checkUTF8(text); err != nil {
		return nil, err
	}
	if valuesIn(text) > maxValues {
		return nil, errTooManyValues
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // keep all digits of numbers
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("the line is not a JSON object: %w", err)
	}
	if rest, _ := io.ReadAll(d.Buffered()); len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("the line has more than one JSON object")
	}
	fields := make(map[string][]any, len(object))
	for name, v := range object {
		fields[name] = []any{v}
	}
	return fields, nil
}

// valuesIn returns about how many values a JSON text has. It counts commas and opening brackets
// outside strings.
func valuesIn(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}
