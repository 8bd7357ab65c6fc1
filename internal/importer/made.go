package importer

import (
	"errors"
	"io/fs"
	"os"
)

// made is a file with the keys of the items that an import creates and whose links are set at the
// end. If the import is interrupted, the next run sets the links of these items. It does not set
// the links of assets that existed before.
//
// Shape: digests of keys, 16 bytes each, without separators.
type made struct {
	path string
	keys map[digest]bool // keys from an interrupted import
	file *os.File
}

// load reads the keys that an interrupted import has written. If that import was killed while
// it wrote a key, load removes the incomplete key from the file.
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

// note appends keys to the file. It is called before the request that creates their items.
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

// close closes the file and does not remove it.
func (m *made) close() error {
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// removeFile removes a file, if it exists.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
