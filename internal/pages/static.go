package pages

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"path"
)

//go:embed static
var staticFiles embed.FS

// staticVersion changes with the styles and scripts, so that browsers keep them.
var staticVersion = hashOf(staticFiles)

// hashOf returns the begin of a hash of all files.
func hashOf(files fs.FS) string {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, name)
		h.Write(b)
		return err
	})
	if err != nil {
		panic(err) // the files are in the program
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// serveStatic serves GET ui/static/<version>/<name>.
func serveStatic(v *visit) error {
	name := v.r.PathValue("name")
	b, err := staticFiles.ReadFile("static/" + name)
	if err != nil {
		return notFound()
	}
	v.protect()
	h := v.w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	return v.send(kind, b)
}
