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
	file  *os.File
	out   *bufio.Writer
	in    *json.Decoder
	n     int // values that were added
	taken int
}

// add keeps a value. None is added once next was called.
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

// next returns the values in order. Errors: io.EOF behind the last one, where the file
// is dropped.
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

// close drops the file.
func (s *spool[T]) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// each calls do with what was kept, in order, and drops it.
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
