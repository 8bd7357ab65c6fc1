package importer

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// problem is an error of one record. The import rejects that record and continues.
type problem struct{ msg string }

// Error returns the message.
func (p problem) Error() string { return p.msg }

func problemf(format string, args ...any) error { return problem{fmt.Sprintf(format, args...)} }

func isProblem(err error) bool {
	_, ok := errors.AsType[problem](err)
	return ok
}

// rejects is the file of rejected records, in the format of the source. The file is created when
// the first record is rejected.
type rejects struct {
	path string // empty: no file is written
	head []byte // the beginning of the file
	file *os.File
}

// add writes a record to the file. raw is the record as it is in the source.
func (r *rejects) add(raw []byte) error {
	if r.path == "" {
		return nil
	}
	if r.file == nil {
		f, err := os.OpenFile(r.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		r.file = f
		if err := writeLine(f, r.head); err != nil {
			return err
		}
	}
	return writeLine(r.file, raw)
}

// writeLine writes a text, and a newline if the text has none at its end.
func writeLine(w io.Writer, text []byte) error {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text[:len(text):len(text)], '\n')
	}
	_, err := w.Write(text)
	return err
}

func (r *rejects) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
