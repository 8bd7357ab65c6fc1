package importer

import (
	"errors"
	"io/fs"
	"os"
)

// made is which items an import creates whose links are set at the end, in a file beside
// the mark of what is pending: one that was cut off sets these links when it goes on, and
// none of what was there before.
//
// Shape of the file: digests of keys, one behind the other.
type made struct {
	path string
	keys map[digest]bool // what an import has noted that was cut off
	file *os.File
}

// load reads what an import has noted that was cut off, and goes on behind it. What a
// killed one has written in part is dropped.
func (m *made) load() error {
	text, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	m.keys = map[digest]bool{}
	size := len(digest{})
	whole := len(text) / size * size
	for at := 0; at < whole; at += size {
		m.keys[digest(text[at:at+size])] = true
	}
	return os.Truncate(m.path, int64(whole))
}

// note adds keys before they are sent.
func (m *made) note(keys []digest) (err error) {
	if len(keys) == 0 {
		return nil
	}
	if m.file == nil {
		if m.file, err = os.OpenFile(m.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return err
		}
	}
	var text []byte
	for _, k := range keys {
		text = append(text, k[:]...)
	}
	_, err = m.file.Write(text)
	return errors.Join(err, m.file.Sync())
}

// close closes the file, which stays.
func (m *made) close() error {
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// remove says that the import is over.
func (m *made) remove() error {
	if err := os.Remove(m.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
