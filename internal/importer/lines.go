package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lines has a JSON object in each line.
type lines struct {
	r    *bufio.Reader
	line int
}

func (l *lines) head() []byte   { return nil }
func (l *lines) suffix() string { return ".jsonl" }

// next reads a line that is not empty.
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
		rec.fields, rec.err = fieldsOf(text)
		return rec, nil
	}
}

// read returns a line with its end. Errors: io.EOF at the end, also behind a last
// line without end; errRecordTooLong.
func (l *lines) read() ([]byte, error) {
	var text []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if text = append(text, part...); len(text) > maxRecord {
			return nil, errRecordTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// fieldsOf reads an object; each member has one value.
func fieldsOf(text []byte) (map[string][]any, error) {
	if err := checkUTF8(text); err != nil {
		return nil, err
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // as written, no digit lost
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("no JSON object: %w", err)
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
