package sql

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed mysql/*.sql sqlite/*.sql
var files embed.FS

// Migration is one step of the schema.
type Migration struct {
	Version  int    // from 1, without gaps being required
	Name     string // the words of the file name, such as "asset_version"
	Text     string // the SQL, without the closing semicolon
	Checksum string // SHA-256 of the file, in hex
}

// Migrations returns the steps for a dialect, "mysql" or "sqlite", in order.
// Errors: a file whose name is not NNNN_name.sql, or a number used twice.
func Migrations(dialect string) ([]Migration, error) {
	entries, err := fs.ReadDir(files, dialect)
	if err != nil {
		return nil, fmt.Errorf("migrations of %q: %w", dialect, err)
	}
	all := make([]Migration, 0, len(entries))
	for _, e := range entries {
		m, err := load(dialect, e.Name())
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && all[n-1].Version >= m.Version {
			return nil, fmt.Errorf("migration %s/%s: number %d is used twice", dialect, e.Name(), m.Version)
		}
		all = append(all, m)
	}
	return all, nil
}

func load(dialect, file string) (Migration, error) {
	number, name, ok := strings.Cut(strings.TrimSuffix(file, ".sql"), "_")
	version, err := strconv.Atoi(number)
	if !ok || err != nil || len(number) != 4 {
		return Migration{}, fmt.Errorf("migration %s/%s: want NNNN_name.sql", dialect, file)
	}
	text, err := files.ReadFile(dialect + "/" + file)
	if err != nil {
		return Migration{}, err
	}
	sum := sha256.Sum256(text)
	return Migration{
		Version:  version,
		Name:     name,
		Text:     strings.TrimSuffix(strings.TrimSpace(string(text)), ";"),
		Checksum: hex.EncodeToString(sum[:]),
	}, nil
}
