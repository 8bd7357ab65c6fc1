package importer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// pending is the request that is being sent, in a file that is there while an import
// writes: who finds it knows that one was cut off, and sends it again.
type pending struct {
	path string
}

// sent is the content of the file. The Idempotency-Key is random and not made of the
// body: what was imported, deleted and is imported again is the same body, too, and
// would get the stored answer.
type sent struct {
	Idempotency string
	Body        []byte
	Creates     []created      // what is there if the request was executed
	Check       map[string]any // a query that finds what is there then; nil: Creates says it
}

// created is the key of an asset, and among those of which type it is one.
type created struct{ Root, Key, Type string }

// load returns what was being sent when an import was cut off. cutOff: there was one.
func (p pending) load() (s sent, cutOff bool, err error) {
	text, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	return s, true, json.Unmarshal(text, &s)
}

// store writes it, so that either it or what was there before is found.
func (p pending) store(s sent) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(p.path), filepath.Base(p.path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), p.path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error before is the one that matters
	}
	return err
}

// remove says that the import is over.
func (p pending) remove() error {
	if err := os.Remove(p.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// send notes a request and sends it.
func (p pending) send(ctx context.Context, c *client, s sent) (answer, error) {
	s.Idempotency = "import-" + rand.Text()
	if err := p.store(s); err != nil {
		return answer{}, err
	}
	return c.write(ctx, s.Body, s.Idempotency)
}
