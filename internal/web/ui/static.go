package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"path"
)

//go:embed static
var staticFiles embed.FS

// staticFile is a style, script or image, plain and compressed. Each file is compressed only
// once, at start.
type staticFile struct {
	kind          string
	plain, packed []byte
}

// statics has the static files by name. The version changes if any file changes, so browsers
// may cache the files for a long time.
type statics struct {
	byName  map[string]staticFile
	version string
}

// readStatics reads and compresses the embedded files.
func readStatics() statics {
	all, hash := statics{byName: map[string]staticFile{}}, sha256.New()
	err := fs.WalkDir(staticFiles, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		hash.Write(b)
		all.byName[path.Base(name)] = staticFile{kind: kindOf(name), plain: b, packed: packed(b)}
		return nil
	})
	if err != nil {
		panic(err) // cannot fail: the files are embedded
	}
	all.version = hex.EncodeToString(hash.Sum(nil))[:12]
	return all
}

func kindOf(name string) string {
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "text/plain; charset=utf-8" // a license
}

func packed(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a buffer returns no error
	_ = z.Close()
	return out.Bytes()
}

// serveStatic serves GET ui/static/<version>/<name>.
func serveStatic(v *Visit) error {
	one, ok := v.Site.statics.byName[v.Request.PathValue("name")]
	if !ok {
		return NotFound()
	}
	h := v.Writer.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Type", one.kind)
	body := one.plain
	if acceptsGzip(v.Request) {
		h.Set("Content-Encoding", "gzip")
		body = one.packed
	}
	_, err := v.Writer.Write(body)
	return err
}
