package sql

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

//go:embed mysql/*.sql sqlite/*.sql
var files embed.FS

// Migration is one step of the schema.
type Migration struct {
	Version  int    // from 1; there may be gaps
	Name     string // the words of the file name, such as "asset_version"
	Text     string // the SQL, without the closing semicolon; empty for a program
	Checksum string // SHA-256 of the file, in hex
	Oldest   string // the oldest release that works with it
	// Run executes a step that is a program; otherwise nil. It may run again after a crash.
	Run func(ctx context.Context, r Runner) error
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
		all = append(all, m)
	}
	all = append(all, programs(dialect)...)
	slices.SortFunc(all, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	for i := range all {
		all[i].Oldest = oldestOf(all[i].Version)
	}
	for i := range all[1:] {
		if all[i].Version == all[i+1].Version {
			return nil, fmt.Errorf("migration %04d_%s of %s: the number is used twice", all[i].Version, all[i].Name, dialect)
		}
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
