package db_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// values are values that might be written differently as text than by a prepared statement.
var values = []any{
	"",
	"plain", `it's "quoted" \ and; a -- comment /* ? */ # with ` + "\x00\x1a\n\r\t`",
	"Zoë 😀 ß İ",
	strings.Repeat("ä", 5000),
	[]byte(`{"a": "\"'"}`),
	[]byte{0, 0xff, '\'', '\\'},
	nil,
}

func packetTable(t *testing.T, d *db.DB) {
	t.Helper()
	if _, err := d.Exec(t.Context(), `CREATE TABLE packets (id INTEGER NOT NULL PRIMARY KEY, v LONGTEXT NULL, b LONGBLOB NULL, f DOUBLE NULL)`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = d.Exec(context.Background(), `DROP TABLE packets`) })
}

func count(t *testing.T, q db.Querier, where string) (n int) {
	t.Helper()
	if err := q.QueryRow(t.Context(), `SELECT COUNT(*) FROM packets WHERE `+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Statements that are sent together as text must write the same values as single statements.
func TestLaterWritesWhatItIsGiven(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		packetTable(t, d)
		floats := []float64{0.1, -1e300, 5e-324, 1.7976931348623157e308, 123456789012345680, 0.30000000000000004}
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			for i, v := range values {
				for k, to := range []db.Execer{tx.Later(), tx} {
					column := "v"
					if b, ok := v.([]byte); ok && b[0] == 0 {
						column = "b"
					}
					if _, err := to.Exec(t.Context(), `INSERT INTO packets (id, `+column+`) VALUES (?, ?)`, 10*i+k, v); err != nil {
						return err
					}
				}
			}
			for i, f := range floats {
				for k, to := range []db.Execer{tx.Later(), tx} {
					if _, err := to.Exec(t.Context(), `INSERT INTO packets (id, f) VALUES (?, ?)`, 1000+10*i+k, f); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		same := `EXISTS (SELECT 1 FROM packets o WHERE o.id = packets.id + 1 AND ` +
			`(HEX(o.v) = HEX(packets.v) OR o.v IS NULL AND packets.v IS NULL) AND (HEX(o.b) = HEX(packets.b) OR o.b IS NULL AND packets.b IS NULL) AND (o.f = packets.f OR o.f IS NULL AND packets.f IS NULL))`
		if n, want := count(t, d, `id % 10 = 0 AND `+same), len(values)+len(floats); n != want {
			t.Errorf("%d of %d are the same", n, want)
		}
	})
}

// Some statements of a transaction are sent later, together with the next statement. All statements must
// keep their order, and be rolled back with the transaction. On SQLite no statement is sent later.
func TestLaterKeepsTheOrder(t *testing.T) {
	d := testdb.MySQL(t)
	packetTable(t, d)
	later := func(tx *db.Tx, query string, args ...any) {
		t.Helper()
		if _, err := tx.Later().Exec(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	insert := `INSERT INTO packets (id, v) VALUES (?, ?)`
	undo := errors.New("undo")
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		later(tx, insert, 1, "a")
		later(tx, `UPDATE packets SET v = 'b' WHERE id = 1`)
		if n := count(t, tx, `v = 'b'`); n != 1 {
			t.Errorf("a read behind two writes sees %d", n)
		}
		later(tx, `UPDATE packets SET v = 'c' WHERE v = 'b'`)
		r, err := tx.Exec(t.Context(), `UPDATE packets SET v = 'd' WHERE v = 'c'`)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); n != 1 || err != nil {
			t.Errorf("the statement behind what waits affects %d: %v", n, err)
		}
		// A failed savepoint undoes its statements, whether they were already sent or not.
		for _, sent := range []bool{false, true} {
			err = tx.Savepoint(t.Context(), func() error {
				later(tx, insert, 2, "undone")
				if sent {
					count(t, tx, `id = 2`)
					later(tx, insert, 3, "undone")
				}
				return undo
			})
			if !errors.Is(err, undo) {
				t.Errorf("the savepoint: %v", err)
			}
		}
		// If the database refuses a waiting statement, its savepoint returns the error.
		err = tx.Savepoint(t.Context(), func() error {
			later(tx, insert, 4, "undone")
			later(tx, insert, 1, "twice")
			later(tx, insert, 5, "undone")
			return nil
		})
		if fault.KindOf(err) != fault.Conflict {
			t.Errorf("a row twice: %v", err)
		}
		// A read that is sent after the refused statement also returns the error. The transaction can
		// continue.
		later(tx, insert, 6, "a")
		later(tx, insert, 1, "twice")
		var n int
		if err := tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM packets`).Scan(&n); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a read behind a row twice: %d rows, %v", n, err)
		}
		later(tx, `UPDATE packets SET v = ? WHERE id = 6`, "last")
		ids, err := db.Column[int64](t.Context(), tx, `SELECT id FROM packets WHERE v = ? OR id = 1 ORDER BY id`, "last")
		if err != nil || !slices.Equal(ids, []int64{1, 6}) {
			t.Errorf("the rows of a read behind a write: %v, %v", ids, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, m := count(t, d, `id IN (1, 6)`), count(t, d, `id NOT IN (1, 6)`); n != 2 || m != 0 {
		t.Errorf("%d and %d rows", n, m)
	}
	err = d.Write(t.Context(), func(tx *db.Tx) error {
		later(tx, insert, 7, "undone")
		return undo
	})
	if n := count(t, d, `id = 7`); n != 0 || !errors.Is(err, undo) {
		t.Errorf("%d rows of a transaction that was rolled back: %v", n, err)
	}
	// If the last waiting statements fail, the commit fails.
	err = d.Write(t.Context(), func(tx *db.Tx) error {
		later(tx, insert, 8, "undone")
		later(tx, insert, 8, "twice")
		return nil
	})
	if n := count(t, d, `id = 8`); n != 0 || fault.KindOf(err) != fault.Conflict {
		t.Errorf("%d rows of a transaction whose last statement was refused: %v", n, err)
	}
}

// The server detects a deadlock of two transactions in statements that are sent with a read.
// One of them runs again.
func TestLaterRunsAgainAfterADeadlock(t *testing.T) {
	d := testdb.MySQL(t)
	packetTable(t, d)
	if _, err := d.Exec(t.Context(), `INSERT INTO packets (id, f) VALUES (1, 0), (2, 0)`); err != nil {
		t.Fatal(err)
	}
	var runs atomic.Int64
	var hold sync.WaitGroup
	hold.Add(2)
	var both sync.WaitGroup
	for _, ids := range [][2]int{{1, 2}, {2, 1}} {
		var once sync.Once
		both.Go(func() {
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				runs.Add(1)
				if _, err := tx.Exec(t.Context(), `UPDATE packets SET f = f + 1 WHERE id = ?`, ids[0]); err != nil {
					return err
				}
				once.Do(func() { hold.Done(); hold.Wait() })
				if _, err := tx.Later().Exec(t.Context(), `UPDATE packets SET f = f + 1 WHERE id = ?`, ids[1]); err != nil {
					return err
				}
				if _, err := tx.Later().Exec(t.Context(), `INSERT INTO packets (id) VALUES (?)`, 10+ids[0]); err != nil {
					return err
				}
				var n int
				return tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM packets`).Scan(&n)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if n, m := count(t, d, `id < 10 AND f = 2`), count(t, d, `id > 10`); n != 2 || m != 2 || runs.Load() != 3 {
		t.Errorf("%d rows changed by both, %d inserted, in %d runs", n, m, runs.Load())
	}
}

// The error names a column that refuses NULL, even if the statement was sent later.
func TestRefusesNull(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		if _, err := d.Exec(t.Context(), `CREATE TABLE strict (id INTEGER NOT NULL PRIMARY KEY, generation BIGINT NOT NULL, other BIGINT NOT NULL)`); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = d.Exec(context.Background(), `DROP TABLE strict`) })
		for column, want := range map[string]bool{"generation": true, "other": false} {
			for _, read := range []bool{false, true} {
				err := d.Write(t.Context(), func(tx *db.Tx) error {
					_, err := tx.Later().Exec(t.Context(), `INSERT INTO strict (id, generation, other) SELECT 1, CASE x.c WHEN 'generation' THEN NULL ELSE 1 END,`+
						` CASE x.c WHEN 'other' THEN NULL ELSE 1 END FROM (SELECT ? AS c) x`, column)
					if err == nil && read {
						var n int
						err = tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM strict`).Scan(&n)
					}
					return err
				})
				if err == nil || sqlerror.RefusesNull(err, "generation") != want {
					t.Errorf("%s, read %v: %v", column, read, err)
				}
			}
		}
		if sqlerror.RefusesNull(nil, "generation") {
			t.Error("no error refuses NULL")
		}
	})
}

// Statements that run together are one transaction, with a result for each.
func TestTogether(t *testing.T) {
	d := testdb.MySQL(t)
	packetTable(t, d)
	raise := db.Statement{Query: `UPDATE packets SET id = LAST_INSERT_ID(id + ?) WHERE v = ?`, Args: []any{10, "a"}}
	first := db.Statement{Query: `INSERT INTO packets (id, v) VALUES (1, 'a')`}
	rows, ids, err := d.Together(t.Context(), first, raise, db.Statement{Query: raise.Query, Args: []any{1, "nobody"}})
	if err != nil || len(rows) != 3 || rows[0] != 1 || rows[1] != 1 || rows[2] != 0 || ids[1] != 11 {
		t.Errorf("%v %v %v", rows, ids, err)
	}
	if rows, ids, err = d.Together(t.Context(), raise); err != nil || len(rows) != 1 || ids[0] != 21 {
		t.Errorf("one alone: %v %v %v", rows, ids, err)
	}
	// A refused statement undoes the statements before it, and the connection can be used again.
	for range 6 {
		if _, _, err = d.Together(t.Context(), raise, db.Statement{Query: `INSERT INTO packets (id, v) VALUES (31, 'twice')`}, first); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a row twice: %v", err)
		}
	}
	if n := count(t, d, `id = 21`); n != 1 {
		t.Errorf("%d rows are as before", n)
	}
}

// A transaction includes its first statement, whatever its form.
func TestATransactionBeginsWithItsFirstStatement(t *testing.T) {
	d := testdb.MySQL(t)
	packetTable(t, d)
	undo := errors.New("undo")
	for name, first := range map[string]func(tx *db.Tx) error{
		"text": func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO packets (id) VALUES (1)`)
			return err
		},
		"values": func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO packets (id) VALUES (?)`, 1)
			return err
		},
		"large": func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO packets (id, b) VALUES (?, ?)`, 1, []byte(strings.Repeat("\xff", 1<<20)))
			return err
		},
		"packet": func(tx *db.Tx) error {
			if _, err := tx.Later().Exec(t.Context(), `INSERT INTO packets (id) VALUES (?)`, 2); err != nil {
				return err
			}
			r, err := tx.Exec(t.Context(), `INSERT INTO packets (id) VALUES (?), (?)`, 1, 3)
			if err != nil {
				return err
			}
			if n, err := r.RowsAffected(); n != 2 || err != nil {
				t.Errorf("%d rows by the last of a packet, %v", n, err)
			}
			return nil
		},
		"select": func(tx *db.Tx) error {
			var n int64
			if err := tx.QueryRow(t.Context(), `SELECT COUNT(*) + ? FROM packets`, 5).Scan(&n); n != 5 {
				t.Errorf("%d, want 5", n)
				return err
			}
			_, err := tx.Exec(t.Context(), `INSERT INTO packets (id) VALUES (?)`, 1)
			return err
		},
		"lock": func(tx *db.Tx) error {
			if _, err := tx.Exec(t.Context(), `SELECT id FROM packets WHERE id = ? FOR UPDATE`, 1); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `INSERT INTO packets (id) VALUES (?)`, 1)
			return err
		},
		"refused": func(tx *db.Tx) error {
			if _, err := tx.Exec(t.Context(), `INSERT INTO packets (id) VALUES (?), (?)`, 1, 1); fault.KindOf(err) != fault.Conflict {
				t.Errorf("a second row of one key: %v", err)
			}
			_, err := tx.Exec(t.Context(), `INSERT INTO packets (id) VALUES (?)`, 1)
			return err
		},
		"nothing": func(*db.Tx) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			if err := d.Write(t.Context(), func(tx *db.Tx) error { return errors.Join(first(tx), undo) }); !errors.Is(err, undo) || strings.Count(err.Error(), "\n") > 0 {
				t.Fatal(err)
			}
			if n := count(t, d, "0 = 0"); n != 0 {
				t.Fatalf("%d rows are left of what was rolled back", n)
			}
			if err := d.Write(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			if n := count(t, d, "id = 1"); n != 1 && name != "nothing" {
				t.Errorf("%d rows of what was committed", n)
			}
			if _, err := d.Exec(t.Context(), `DELETE FROM packets`); err != nil {
				t.Fatal(err)
			}
		})
	}
}
