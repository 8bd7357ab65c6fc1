package importer

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// problem is what is wrong with one record; the others go on.
type problem struct{ msg string }

// Error returns the message.
func (p problem) Error() string { return p.msg }

func problemf(format string, args ...any) error { return problem{fmt.Sprintf(format, args...)} }

func isProblem(err error) bool {
	_, ok := errors.AsType[problem](err)
	return ok
}

// rejects is the file of records that were not taken, in the form of the source. It is
// made with the first of them.
type rejects struct {
	path string
	head []byte
	file *os.File
	n    int
}

// add writes a record.
func (r *rejects) add(raw []byte) error {
	r.n++
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

// writeLine writes a text that ends with a line.
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
