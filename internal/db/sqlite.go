package db

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

const sqliteStmts = 300 // per connection

// sqlitePools opens the one write connection and the read pool of a file.
func sqlitePools(path string, readers int) (writer, reader *sql.DB, err error) {
	if path == "" || strings.Contains(path, ":memory:") {
		return nil, nil, errors.New("want sqlite:path, a file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	common := []string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)",
		"cache_size(-65536)", "temp_store(MEMORY)",
	}
	if writer, err = sqlitePool(path, "immediate", common, 1); err != nil {
		return nil, nil, err
	}
	if reader, err = sqlitePool(path, "deferred", append(common, "query_only(1)"), readers); err != nil {
		_ = writer.Close()
		return nil, nil, err
	}
	return writer, reader, nil
}

func sqlitePool(path, lock string, pragmas []string, conns int) (*sql.DB, error) {
	inner, err := sqliteConnector("file:"+(&url.URL{Path: path}).EscapedPath(), lock, pragmas)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector{Connector: inner, stmts: sqliteStmts})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool, nil
}
