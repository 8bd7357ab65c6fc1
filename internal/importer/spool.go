package importer

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// spool stores values as JSON in a temporary file, in the order in which they are read again.
// The name of the file is removed at once, so that a killed process leaves no file.
type spool[T any] struct {
	file  *os.File
	out   *bufio.Writer
	in    *json.Decoder
	n     int // number of values that were added
	taken int // number of values that next has returned
}

// add adds a value. It must not be called after next.
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

// next returns the next value. Errors: io.EOF after the last value; the file is then closed.
func (s *spool[T]) next() (v T, err error) {
	if s.taken == s.n {
		if err := s.close(); err != nil {
			return v, err
		}
		return v, io.EOF
	}
	if s.in == nil {
		if err := s.out.Flush(); err != nil {
			return v, err
		}
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return v, err
		}
		s.in = json.NewDecoder(bufio.NewReader(s.file))
		s.in.UseNumber()
	}
	s.taken++
	err = s.in.Decode(&v)
	return v, err
}

// close closes the file, which frees its space on the disk.
func (s *spool[T]) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// each calls do for each value in order, and closes the file.
func (s *spool[T]) each(do func(T) error) error {
	for {
		v, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(v)
		}
		if err != nil {
			return errors.Join(err, s.close())
		}
	}
}
