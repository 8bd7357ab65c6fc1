package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// record is one entry of a source.
type record struct {
	line   int              // the line on which it begins, from 1
	raw    []byte           // the record as it is in the source
	fields map[string][]any // by column: the values, none for an empty column; texts from a CSV, otherwise JSON values
	err    error            // why the record cannot be read; the source continues with the next record
}

// has reports whether the record has a column, perhaps without a value.
func (r record) has(column string) bool {
	_, ok := r.fields[column]
	if !ok && strings.Contains(column, anyLink) {
		_, ok = r.fields[anyLink]
	}
	return ok
}

// source returns the records of a file in order.
type source interface {
	// next returns the next record. Errors: io.EOF after the last record; others end the import.
	next() (record, error)
	// head returns the beginning of a file of this format, before the first record.
	head() []byte
	// suffix returns the end of the name of a file of this format.
	suffix() string
}

// The limits of one record.
const (
	maxRecord = 32 << 20  // bytes; without it, a missing quote would read the whole file
	maxValues = 2_000_000 // number of JSON values, as in the service
	maxFields = 100_000   // fields of a row of CSV
)

var errRecordTooLong = fmt.Errorf("a record is longer than %d MiB; is a quote not closed?", maxRecord>>20)

// tape is a reader that keeps the bytes that were read since the last cut.
type tape struct {
	r    io.Reader
	kept []byte
	at   int64 // offset of kept[0] in r
	line int   // line of kept[0], from 1
}

func newTape(r io.Reader) *tape { return &tape{r: r, line: 1} }

// Read implements io.Reader. Errors: errRecordTooLong after more than maxRecord bytes without a
// cut; errors of r.
func (t *tape) Read(b []byte) (int, error) {
	if len(t.kept) > maxRecord {
		return 0, errRecordTooLong
	}
	n, err := t.r.Read(b)
	t.kept = append(t.kept, b[:n]...)
	return n, err
}

// cut returns the kept bytes before an offset, and the line on which they begin. It first removes
// the characters of between from the beginning of these bytes.
func (t *tape) cut(offset int64, between string) (raw []byte, line int) {
	n := int(offset - t.at)
	raw = bytes.Clone(t.kept[:n])
	text := bytes.TrimLeft(raw, between)
	line = t.line + bytes.Count(raw[:len(raw)-len(text)], []byte("\n"))
	t.line += bytes.Count(raw, []byte("\n"))
	t.at = offset
	t.kept = append(t.kept[:0], t.kept[n:]...)
	return text, line
}

var (
	byteOrderMark = []byte("\xef\xbb\xbf")
	errNotUTF8    = errors.New("the text is not UTF-8")
)

// plain returns the text of a file. It decompresses gzip and removes a byte order mark.
func plain(r io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(z, 64<<10)
	}
	if mark, _ := b.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = b.Discard(len(byteOrderMark)) // cannot fail: Peek has buffered these bytes
	}
	return b, nil
}

// withLines returns a reader of the text. If lines end with CR only, the reader replaces each CR by
// LF. The first line ending outside quotes decides, if it is in the buffer. escapes is true if a
// backslash in quotes escapes the next character.
func withLines(b *bufio.Reader, escapes bool) *bufio.Reader {
	head, _ := b.Peek(b.Size())
	quoted, escaped := false, false
	for i, c := range head {
		switch {
		case escaped:
			escaped = false
		case quoted && escapes && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n', c == '\r' && i+1 < len(head) && head[i+1] == '\n', c == '\r' && i+1 == b.Size():
			return b
		case c == '\r':
			return bufio.NewReaderSize(returns{b}, b.Size())
		}
	}
	return b
}

// returns replaces each CR by LF.
type returns struct{ r io.Reader }

// Read implements io.Reader.
func (c returns) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	for i := range b[:n] {
		if b[i] == '\r' {
			b[i] = '\n'
		}
	}
	return n, err
}

// openSource returns a source for a format: csv, jsonl or jira. separator is the separator of
// a CSV.
func openSource(format string, r io.Reader, separator rune) (source, error) {
	b, err := plain(r)
	if err != nil {
		return nil, err
	}
	b = withLines(b, format == "jsonl")
	switch format {
	case "jsonl":
		return &lines{r: b}, nil
	case "jira":
		first, _ := b.Peek(512)
		if first = bytes.TrimLeft(first, " \t\r\n"); len(first) > 0 && (first[0] == '{' || first[0] == '[') {
			return newIssues(b), nil
		}
	}
	return newTable(b, separator)
}

func checkUTF8(raw []byte) error {
	if !utf8.Valid(raw) {
		return errNotUTF8
	}
	return nil
}
