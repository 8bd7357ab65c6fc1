package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// OpenBucket opens the store with a URL: s3://bucket, or file:///folder. It creates the folder,
// but not the folders above it.
func OpenBucket(address string) (Bucket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of the store is not a URL")
	}
	switch u.Scheme {
	case "file":
	case "s3":
		return openS3(u)
	default:
		return nil, fmt.Errorf("the scheme of the address must be file or s3, not %q", u.Scheme)
	}
	if err := makeFolder(u.Path); err != nil {
		return nil, fmt.Errorf("create the folder of the store: %w", err)
	}
	return folder(u.Path), nil
}

// makeFolder creates a folder, unless it exists. A new folder survives a crash of the machine.
func makeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// folder stores objects as files in subfolders. The last two digits of a file's name are random
// and name its subfolder, so no subfolder has too many files.
type folder string

func (f folder) path(key string) string { return filepath.Join(string(f), key[len(key)-2:], key) }

// Put writes a temporary file and renames it, so that an object is never incomplete.
func (f folder) Put(ctx context.Context, key string, src io.Reader, _ int64) error {
	path := f.path(key)
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	part, err := os.OpenFile(path+".part", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, src)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder writes the names in a folder to disk, so that they survive a crash of the machine.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open opens a file to read n bytes. The parameter from is the offset of the first of these bytes.
func (f folder) Open(_ context.Context, key string, from, n int64) (io.ReadCloser, error) {
	file, err := os.Open(f.path(key))
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, from, n), file}, nil
}

// Remove removes a file, and the temporary file of an interrupted upload.
func (f folder) Remove(_ context.Context, key string) error {
	for _, path := range []string{f.path(key), f.path(key) + ".part"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Ping returns an error if the folder is not writable.
func (f folder) Ping(context.Context) error {
	file, err := os.CreateTemp(string(f), "ping")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
