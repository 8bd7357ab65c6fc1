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

	// The pages that a connection keeps, in KiB. Those of readers add up, and the
	// system keeps the file's pages too.
	writerCache = "cache_size(-8192)"
	readerCache = "cache_size(-2048)"

	// sqliteIdle is when a connection is closed that nobody used, with the pages
	// that it keeps: a load leaves many.
	sqliteIdle = 10 * time.Second
)

// busyWait is how long a connection waits for the locks of others, in ms.
const busyWait = "busy_timeout(10000)"

// Where a connection puts what it sorts, and what stands between the parts of a statement.
const (
	inMemory = "temp_store(MEMORY)"
	inFiles  = "temp_store(FILE)" // where it is more than a few MiB, of which one statement may take any number
)

// connection returns what the connections of a file share, and more.
func connection(more ...string) []string {
	return append([]string{
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)", "secure_delete(1)",
	}, more...)
}

// sqlitePools opens the one write connection of a file, and read pools of so
// many connections, of which those of the last but one are for long reads.
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
			return writer, readers, err // who closes them
		}
		readers = append(readers, reader)
	}
	return writer, readers, nil
}

// ownersOnly makes the file of a database, and what SQLite keeps beside it, one
// that only its owner reads and writes, whatever the folder and the umask allow.
// What SQLite makes beside it later has the mode of the database.
// Errors: a file whose mode may not be changed, which belongs to somebody else.
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
