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
	line   int              // where it begins, from 1
	raw    []byte           // as it stands there
	fields map[string][]any // by column, of one without a value none; texts in a CSV, JSON values else
	err    error            // why it cannot be read; the source goes on behind it
}

// has reports whether a column is there, perhaps without a value.
func (r record) has(column string) bool {
	_, ok := r.fields[column]
	if !ok && strings.Contains(column, anyLink) {
		_, ok = r.fields[anyLink]
	}
	return ok
}

// source gives records in order.
type source interface {
	// next returns the next record. Errors: io.EOF behind the last one; others end the import.
	next() (record, error)
	// head is what a file of records begins with, before the first.
	head() []byte
	// suffix is the end of the name of such a file.
	suffix() string
}

// Bounds of one record.
const (
	maxRecord = 32 << 20  // bytes, such as behind a quote that nobody closes
	maxValues = 2_000_000 // values of JSON, as many as a service takes
	maxFields = 100_000   // of a CSV
)

var errRecordTooLong = fmt.Errorf("a record is longer than %d MiB; is a quote not closed?", maxRecord>>20)

// tape is a reader that keeps what was read since the last cut.
type tape struct {
	r    io.Reader
	kept []byte
	at   int64 // offset of kept[0]
	line int   // its line, from 1
}

func newTape(r io.Reader) *tape { return &tape{r: r, line: 1} }

// Read reads on. Errors: also errRecordTooLong.
func (t *tape) Read(b []byte) (int, error) {
	if len(t.kept) > maxRecord {
		return 0, errRecordTooLong
	}
	n, err := t.r.Read(b)
	t.kept = append(t.kept, b[:n]...)
	return n, err
}

// cut returns what was kept before an offset, without the characters of between at its
// beginning, and the line on which it stands.
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

// plain undoes gzip and drops a byte order mark.
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
		_, _ = b.Discard(len(byteOrderMark)) // they have just been seen
	}
	return b, nil
}

// withLines returns the text with lines that end with LF where they end with CR alone.
// escapes: a backslash in a quoted text keeps the next character from ending it.
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

// returns reads LF for CR.
type returns struct{ r io.Reader }

// Read reads on.
func (c returns) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	for i := range b[:n] {
		if b[i] == '\r' {
			b[i] = '\n'
		}
	}
	return n, err
}

// open returns the source of a format: csv, jsonl or jira.
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
