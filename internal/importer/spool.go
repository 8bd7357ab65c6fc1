package importer

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// spool holds values that come later in a file that has no name, so that none is left
// behind by who is killed.
type spool[T any] struct {
	file *os.File
	out  *bufio.Writer
	n    int
}

// add keeps a value.
func (s *spool[T]) add(v T) error {
	if s.file == nil {
		f, err := os.CreateTemp("", "alds-import")
		if err != nil {
			return err
		}
		if err := os.Remove(f.Name()); err != nil {
			return errors.Join(err, f.Close())
		}
		s.file, s.out = f, bufio.NewWriter(f)
	}
	s.n++
	return json.NewEncoder(s.out).Encode(v)
}

// each calls do with what was kept, in order, and drops it.
func (s *spool[T]) each(do func(T) error) error {
	if s.file == nil {
		return nil
	}
	defer s.file.Close()
	if err := s.out.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	d := json.NewDecoder(bufio.NewReader(s.file))
	d.UseNumber()
	for range s.n {
		var v T
		if err := d.Decode(&v); err != nil {
			return err
		}
		if err := do(v); err != nil {
			return err
		}
	}
	return nil
}
