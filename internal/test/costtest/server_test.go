package costtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// server is a database server that the service uses instead of SQLite. Nothing else may use the server
// during the test, because its counters include the work of all clients.
type server struct {
	url      string
	d        *db.DB
	made     int    // number of databases that were created
	template string // name of the database with the initial assets
}

// newServer connects to the server with the URL url. If url is "own", it starts a new MariaDB.
func newServer(t *testing.T, url string) *server {
	t.Helper()
	if url == "own" {
		url = testdb.OwnMySQL(t).URL
	}
	d, err := db.Open(t.Context(), url+"/information_schema", db.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: url, d: d}
	s.template = s.create(t)
	t.Cleanup(func() { _ = d.Close() })
	return s
}

func (s *server) execute(t *testing.T, format string, names ...any) {
	t.Helper()
	if _, err := s.d.Exec(t.Context(), fmt.Sprintf(format, names...)); err != nil {
		t.Fatal(err)
	}
}

// create creates an empty database and returns its name.
func (s *server) create(t *testing.T) string {
	t.Helper()
	s.made++
	name := fmt.Sprintf("costtest_%d", s.made)
	s.execute(t, "DROP DATABASE IF EXISTS `%s`", name)
	s.execute(t, "CREATE DATABASE `%s` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", name)
	t.Cleanup(func() { _, _ = s.d.Exec(context.Background(), "DROP DATABASE IF EXISTS `"+name+"`") })
	return name
}

// copied creates a copy of the database template and returns the name of the copy. It first drops the
// database that the parameter last names, unless last is empty.
func (s *server) copied(t *testing.T, last string) string {
	t.Helper()
	if last != "" {
		s.execute(t, "DROP DATABASE IF EXISTS `%s`", last)
	}
	name := s.create(t)
	var tables []string
	err := db.Each(t.Context(), s.d, "SELECT table_name FROM information_schema.tables WHERE table_schema = ? AND table_type = 'BASE TABLE'", []any{s.template}, func(scan db.Scanner) error {
		var table string
		err := scan.Scan(&table)
		tables = append(tables, table)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		s.execute(t, "CREATE TABLE `%[2]s`.`%[3]s` LIKE `%[1]s`.`%[3]s`", s.template, name, table)
		s.execute(t, "INSERT INTO `%[2]s`.`%[3]s` SELECT * FROM `%[1]s`.`%[3]s`", s.template, name, table)
	}
	return name
}

// add adds the work of the database server to the counts n.
func (s *server) add(ctx context.Context, n *counts) error {
	err := db.Each(ctx, s.d, "SELECT variable_name, variable_value FROM information_schema.global_status WHERE variable_name LIKE 'HANDLER_%' OR variable_name IN ('QUESTIONS', 'ROWS_SENT')", nil, func(scan db.Scanner) error {
		var name string
		var value int64
		if err := scan.Scan(&name, &value); err != nil {
			return err
		}
		switch name {
		case "HANDLER_READ_FIRST", "HANDLER_READ_KEY", "HANDLER_READ_LAST", "HANDLER_READ_NEXT", "HANDLER_READ_PREV", "HANDLER_READ_RND", "HANDLER_READ_RND_NEXT":
			n.Steps += value
		case "HANDLER_WRITE", "HANDLER_UPDATE", "HANDLER_DELETE":
			n.Written += value
		case "QUESTIONS":
			n.Statements += value
		case "ROWS_SENT":
			n.Read += value
		}
		return nil
	})
	n.Steps /= stepsOfServer
	if err != nil {
		return err
	}
	writing := 0
	err = s.d.QueryRow(ctx, "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_rows_modified > 0").Scan(&writing)
	n.Writing = writing > 0
	n.TurnSteps = n.Steps // on a server a write does not make all other writes wait
	return err
}

// stepsOfServer is how many rows the server reads for the same work as a thousand instructions of SQLite.
// SQLite needs about twenty instructions for a row.
const stepsOfServer = 50
