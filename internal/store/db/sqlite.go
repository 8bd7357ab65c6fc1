package db

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

// connection returns the pragmas that all connections to a file share, and more.
func connection(more ...string) []string {
	return append([]string{
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)", "secure_delete(1)",
	}, more...)
}

// sqlitePools opens the single write connection of a file, and a read pool of each size. The
// last pool but one is for long reads.
func sqlitePools(path string, sizes ...int) (writer *sql.DB, readers []*sql.DB, err error) {
	if path == "" || strings.Contains(path, ":memory:") {
		return nil, nil, errors.New("want sqlite:path, a file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	if err := ownersOnly(path); err != nil {
		return nil, nil, err
	}
	writes := connection(inMemory, busyWait, writerCache, fmt.Sprintf("wal_autocheckpoint(%d)", checkpointMost), fmt.Sprintf("journal_size_limit(%d)", logKept))
	if writer, err = sqlitePool(path, "immediate", writes, 1); err != nil {
		return nil, nil, err
	}
	for i, size := range sizes {
		between := inMemory
		if i == len(sizes)-2 {
			between = inFiles
		}
		reader, err := sqlitePool(path, "deferred", connection(between, busyWait, readerCache, "query_only(1)"), size)
		if err != nil {
			return writer, readers, err // the caller closes them
		}
		readers = append(readers, reader)
	}
	return writer, readers, nil
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

func sqlitePool(path, lock string, pragmas []string, conns int) (*sql.DB, error) {
	inner, err := sqliteConnector("file:"+(&url.URL{Path: path}).EscapedPath(), lock, pragmas)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector{Connector: inner, stmts: sqliteStmts})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(sqliteIdle)
	return pool, nil
}
