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
	sqliteStmts = 300   // maximum number of cached statements per connection
	ownerMode   = 0o600 // mode of the files of a database

	// The size of the page cache of the connection that writes, and of a connection that reads.
	// SQLite reads a negative number as KiB. The operating system also caches the pages of the
	// file.
	writerCache = "cache_size(-8192)"
	readerCache = "cache_size(-2048)"

	// sqliteIdle is how long an unused connection stays open. Closing it frees its page cache.
	// After many requests at the same time, there are many unused connections.
	sqliteIdle = 10 * time.Second
)

// busyWait limits how long a connection waits for a lock, in milliseconds.
const busyWait = "busy_timeout(10000)"

// inFiles makes a connection store sort data and intermediate results in temporary files if they are larger than the
// page cache. One statement may need any amount: SQLite sorts rows with all their columns, also with long texts, and
// fills gigabytes of memory within a second.
const inFiles = "temp_store(FILE)"

// pragmas returns the pragmas that all connections to a file have, followed by the given pragmas.
func pragmas(more ...string) []string {
	return append([]string{
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)", "secure_delete(1)",
	}, more...)
}

// checkpointWait limits how long a checkpoint of a long write-ahead log waits for readers, in
// milliseconds. Writers wait until the checkpoint ends.
const checkpointWait = "busy_timeout(50)"

// File is a SQLite database in a file.
type File struct {
	path         string
	copyAt, kept int // see NewFile
}

// NewFile creates the file of a database if it is missing. A commit copies the write-ahead log into
// the file when the log has copyAt pages. When SQLite starts the log again from its beginning, it
// shortens the file of the log to kept bytes.
func NewFile(path string, copyAt, kept int) (*File, error) {
	if path == "" || strings.Contains(path, ":memory:") {
		return nil, errors.New("want sqlite:PATH with the path of a file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return &File{path: path, copyAt: copyAt, kept: kept}, ownersOnly(path)
}

// Writes opens the pool for writes. It has only one connection.
func (f *File) Writes() (*sql.DB, error) {
	return f.open("immediate", 1, inFiles, busyWait, writerCache,
		fmt.Sprintf("wal_autocheckpoint(%d)", f.copyAt), fmt.Sprintf("journal_size_limit(%d)", f.kept))
}

// Reads opens a pool for reads.
func (f *File) Reads(conns int) (*sql.DB, error) {
	return f.open("deferred", conns, inFiles, busyWait, readerCache, "query_only(1)")
}

// Checkpoints opens a pool of one connection, which copies the write-ahead log into the database
// file.
func (f *File) Checkpoints() (*sql.DB, error) {
	return f.open("deferred", 1, checkpointWait, readerCache)
}

// open opens a pool of conns connections with the pragmas of all connections and the given pragmas.
// lock says when a transaction locks the file: "immediate" at its beginning, "deferred" at its
// first access.
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

// ownersOnly creates the file of a database if it is missing. It makes the file readable and
// writable only by its owner, regardless of the folder and the umask. It does this also for the
// files that SQLite keeps beside the database file. Files that SQLite creates later get the mode of
// the database file.
// Errors: the mode of a file cannot be changed because another user owns the file.
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
