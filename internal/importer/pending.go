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

// pending is the file with the last request of an import. The file exists until the import has
// finished. If an import finds it at the start, an earlier import was interrupted, and the
// request is sent again.
type pending struct {
	path string
}

// sent is the content of the file with the last request. The Idempotency-Key is random and not
// derived from the body. If assets were imported and deleted, a new import sends the same body, and
// a derived key would get the stored answer of the old request.
type sent struct {
	Idempotency string         // the Idempotency-Key
	Body        []byte         // the JSON of the commands
	Creates     []created      // the assets that exist if the request was executed
	Check       map[string]any // a query that finds an asset if the request was executed; nil: use Creates
}

// created is an asset that a request creates. Root is the type whose assets have the key, and
// Type is the type of the asset.
type created struct{ Root, Key, Type string }

// load returns the last request of an interrupted import. cutOff is true if there is such a
// request.
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

// store writes a request to the file atomically: if the process is killed, the file has either
// this request or the earlier one.
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
		_ = os.Remove(f.Name()) // err is more important than an error of Remove
	}
	return err
}

// send stores a request in the file and sends it.
func (p pending) send(ctx context.Context, c *client, s sent) (answer, error) {
	s.Idempotency = "import-" + rand.Text()
	if err := p.store(s); err != nil {
		return answer{}, err
	}
	return c.write(ctx, s.Body, s.Idempotency)
}
