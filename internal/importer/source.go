package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// record is one entry of a source.
type record struct {
	line   int              // where it begins, from 1
	raw    []byte           // as it stands there
	fields map[string][]any // by column; texts in a CSV, JSON values else
	err    error            // why it cannot be read; the source goes on behind it
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

// open returns the source of a format: csv, jsonl or jira.
func openSource(format string, r io.Reader, separator rune) (source, error) {
	b, err := plain(r)
	if err != nil {
		return nil, err
	}
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
