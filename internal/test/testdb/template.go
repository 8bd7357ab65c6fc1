package testdb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/alds-dev/alds/internal/store/db"
)

// Databases for tests are copies of a template, which is migrated only once. For SQLite the template is a
// file that all test binaries of a run share. On a server it is a database that is kept until the
// migrations change.

// templatePrefix is the beginning of a template's name. The rest of the name is a hash of the files that
// determine what the template contains.
const templatePrefix = "alds_template_"

var hashed = sync.OnceValues(func() (string, error) {
	root, err := FindRoot()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, folder := range []string{"sql", filepath.Join("internal", "store", "db")} {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(root, folder), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			sum.Write([]byte(file[len(root):]))
			sum.Write(text)
			return err
		}))
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], err
})

func templateName(t testing.TB) string {
	t.Helper()
	hash, err := hashed()
	if err != nil {
		t.Fatalf("read what makes a database: %v", err)
	}
	return templatePrefix + hash
}

// migrateAt migrates an empty database.
func migrateAt(url string) error {
	ctx := context.Background()
	d, err := db.Open(ctx, url, db.Options{MaxConns: 2})
	if err != nil {
		return err
	}
	return errors.Join(d.Migrate(ctx), d.Close())
}

var sqliteTemplate struct {
	once sync.Once
	file string
	err  error
}

// migratedFile writes a migrated SQLite database to a new file.
func migratedFile(t testing.TB, file string) {
	t.Helper()
	s := &sqliteTemplate
	s.once.Do(func() { s.file, s.err = makeFile(templateName(t)) })
	text, err := os.ReadFile(s.file)
	if err = errors.Join(s.err, err); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatalf("copy the migrated database: %v", err)
	}
}

// makeFile returns the file of the SQLite template. It creates the file unless another test binary has done
// so.
func makeFile(name string) (string, error) {
	file := filepath.Join(os.TempDir(), name+".db")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	dir, err := os.MkdirTemp("", "alds")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	made := filepath.Join(dir, "test.db")
	if err := migrateAt("sqlite:" + made); err != nil {
		return "", err
	}
	if left, _ := os.Stat(made + "-wal"); left != nil && left.Size() > 0 {
		return "", errors.New("the log of SQLite is not empty after the last connection is closed")
	}
	return file, os.Rename(made, file)
}

// template has the statements that copy the template on a server.
type template struct {
	once   sync.Once
	copies []string // %s stands for the name of the new database
	err    error
}

// copyTemplate copies the template to the empty database with the given name.
func (s *server) copyTemplate(t testing.TB, name string) {
	t.Helper()
	s.template.once.Do(func() { s.template.copies, s.template.err = s.makeTemplate(templateName(t)) })
	err := s.template.err
	if err == nil {
		err = s.alone(func(ctx context.Context, c *sql.Conn) error {
			_, err := c.ExecContext(ctx, strings.ReplaceAll(strings.Join(s.template.copies, ";"), "%s", name))
			return err
		})
	}
	if err != nil {
		t.Fatalf("copy the migrated database: %v", err)
	}
}

// alone calls fn with a connection that accepts several statements at once.
func (s *server) alone(fn func(ctx context.Context, c *sql.Conn) error) error {
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.MultiStatements = "tcp", s.base.Host, true
	cfg.User = s.base.User.Username()
	cfg.Passwd, _ = s.base.User.Password()
	d, err := sql.Open("mysql", cfg.FormatDSN())
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	ctx := context.Background()
	c, err := d.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return fn(ctx, c)
}

// finished is the table that is created last in a template. If it is missing, the process that was creating
// the template was killed.
const finished = "template_is_finished"

// makeTemplate creates the template if it does not exist, and returns the statements that copy it.
func (s *server) makeTemplate(name string) (copies []string, err error) {
	err = s.alone(func(ctx context.Context, c *sql.Conn) error {
		var got sql.NullInt64
		if err := c.QueryRowContext(ctx, "SELECT GET_LOCK(?, 120)", name).Scan(&got); err != nil || got.Int64 != 1 {
			return errors.Join(err, errors.New("another process makes the template and does not end"))
		}
		defer func() { _, _ = c.ExecContext(ctx, "DO RELEASE_LOCK(?)", name) }()
		tables, err := tablesOf(ctx, c, name)
		if err == nil && len(tables) == 0 {
			if err = s.migrateTemplate(ctx, c, name); err == nil {
				tables, err = tablesOf(ctx, c, name)
			}
		}
		for _, table := range tables {
			copies = append(copies, fmt.Sprintf("CREATE TABLE `%%s`.`%s` LIKE `%s`.`%[1]s`", table, name))
		}
		for _, table := range tables {
			copies = append(copies, fmt.Sprintf("INSERT INTO `%%s`.`%s` SELECT * FROM `%s`.`%[1]s`", table, name))
		}
		return err
	})
	return copies, err
}

func (s *server) migrateTemplate(ctx context.Context, c *sql.Conn, name string) error {
	_, err := c.ExecContext(ctx, "DROP DATABASE IF EXISTS `"+name+"`; CREATE DATABASE `"+name+"` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
	if err != nil {
		return err
	}
	if err := migrateAt(s.url(name)); err != nil {
		return err
	}
	_, err = c.ExecContext(ctx, "CREATE TABLE `"+name+"`."+finished+" (id INT)")
	return err
}

// tablesOf returns the names of the tables of a template, or nil if the template is not finished.
func tablesOf(ctx context.Context, c *sql.Conn, name string) (all []string, err error) {
	rows, err := c.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name", name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	complete := false
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			return nil, err
		}
		if table == finished {
			complete = true
		} else {
			all = append(all, table)
		}
	}
	if !complete {
		all = nil
	}
	return all, rows.Err()
}
