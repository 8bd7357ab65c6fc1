package connection

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	sqliteStmts = 300   // per connection
	ownerMode   = 0o600 // of the files of a database

	// The size of the page cache of a connection, in KiB. Each reader has one, and the system
	// caches the pages of the file too.
	writerCache = "cache_size(-8192)"
	readerCache = "cache_size(-2048)"

	// sqliteIdle is how long an unused connection stays open. Closing it frees its page
	// cache; a load leaves many such connections.
	sqliteIdle = 10 * time.Second
)

// busyWait is how long a connection waits for locks, in ms.
const busyWait = "busy_timeout(10000)"

// Where a connection stores sort data and intermediate results.
const (
	inMemory = "temp_store(MEMORY)"
	inFiles  = "temp_store(FILE)" // if larger than a few MiB; one statement may need any amount
)

// pragmas returns the pragmas that all connections to a file share, and more.
func pragmas(more ...string) []string {
	return append([]string{
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)", "secure_delete(1)",
	}, more...)
}

// checkpointWait limits how long a checkpoint of a long log waits for readers, in ms.
// Writers wait meanwhile.
const checkpointWait = "busy_timeout(50)"

// File is a SQLite database in a file.
type File struct {
	path         string
	copyAt, kept int // see NewFile
}

// NewFile creates the file of a database if it is missing. A commit copies the write-ahead log
// into the file when the log has copyAt pages. After the log starts over, it has at most kept
// bytes.
func NewFile(path string, copyAt, kept int) (*File, error) {
	if path == "" || strings.Contains(path, ":memory:") {
		return nil, errors.New("want sqlite:path, a file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return &File{path: path, copyAt: copyAt, kept: kept}, ownersOnly(path)
}

// Writes opens the pool of the only connection that writes.
func (f *File) Writes() (*sql.DB, error) {
	return f.open("immediate", 1, inMemory, busyWait, writerCache,
		fmt.Sprintf("wal_autocheckpoint(%d)", f.copyAt), fmt.Sprintf("journal_size_limit(%d)", f.kept))
}

// Reads opens a pool for reads. Long reads store large intermediate results in files.
func (f *File) Reads(conns int, long bool) (*sql.DB, error) {
	between := inMemory
	if long {
		between = inFiles
	}
	return f.open("deferred", conns, between, busyWait, readerCache, "query_only(1)")
}

// Checkpoints opens the pool of a connection that copies the log into the file.
func (f *File) Checkpoints() (*sql.DB, error) {
	return f.open("deferred", 1, checkpointWait, readerCache)
}

// open opens a pool with the pragmas of all connections, and more.
func (f *File) open(lock string, conns int, more ...string) (*sql.DB, error) {
	pool, err := open("file:"+(&url.URL{Path: f.path}).EscapedPath(), lock, pragmas(more...))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(sqliteIdle)
	return pool, nil
}

// Memory opens a pool of the only connection to a new SQLite database in memory.
func Memory() (*sql.DB, error) {
	pool, err := open("file::memory:", "immediate", nil)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1) // each connection has its own database
	pool.SetMaxIdleConns(1)
	return pool, nil
}

func open(file, lock string, all []string) (*sql.DB, error) {
	inner, err := sqliteConnector(file, lock, all)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{Connector: inner, stmts: sqliteStmts}), nil
}

// ownersOnly makes the file of a database readable and writable by its owner only, regardless
// of folder and umask. It does the same for the files that SQLite keeps beside it. SQLite
// gives files that it creates later the mode of the database.
// Errors: a file whose mode may not be changed because another user owns it.
func ownersOnly(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, ownerMode)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		info, err := os.Stat(path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case info.Mode().Perm() == ownerMode:
			continue
		}
		if err := os.Chmod(path+suffix, ownerMode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
