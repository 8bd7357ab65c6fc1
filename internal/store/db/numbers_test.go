package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// sampled returns all meanings, or with -short one number for each meaning. TestMeanings and
// TestCommitAnswersANumber test all numbers.
func sampled() []db.Meaning {
	if !testing.Short() {
		return db.Meanings
	}
	seen := map[db.Meaning]bool{}
	return slices.DeleteFunc(slices.Clone(db.Meanings), func(m db.Meaning) bool {
		m.Number, m.Message = 0, ""
		had := seen[m]
		seen[m] = true
		return had
	})
}

// TestAStatementAnswersANumber lets a real server return every error number: for a statement, and
// through a trigger for a write. Nothing of the transaction may remain. The transaction is repeated
// if that may help, on another connection if the first one is unusable.
func TestAStatementAnswersANumber(t *testing.T) {
	d := testdb.MySQL(t)
	ctx := t.Context()
	for _, s := range []string{
		"CREATE TABLE told (number INT, message VARCHAR(100)) ENGINE=InnoDB",
		"CREATE TABLE changed (n INT) ENGINE=InnoDB",
		`CREATE TRIGGER tells AFTER INSERT ON changed FOR EACH ROW BEGIN
			DECLARE n INT; DECLARE m VARCHAR(100);
			SELECT number, message INTO n, m FROM told;
			SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = n, MESSAGE_TEXT = m;
		END`,
	} {
		if _, err := d.Exec(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _, _ = d.Exec(context.Background(), "DROP TABLE told, changed") })
	for _, m := range sampled() {
		if _, err := d.Exec(ctx, "DELETE FROM told"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(ctx, "INSERT INTO told VALUES (?, ?)", m.Number, m.Text()); err != nil {
			t.Fatal(err)
		}
		for name, statement := range map[string]func(tx *db.Tx) error{
			"a statement": func(tx *db.Tx) error {
				_, err := tx.Exec(ctx, fmt.Sprintf("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = '%s'", m.Number, strings.ReplaceAll(m.Text(), "'", "''")))
				return err
			},
			"a write": func(tx *db.Tx) error {
				_, err := tx.Exec(ctx, "INSERT INTO changed VALUES (?)", 1)
				return err
			},
		} {
			if fault := failsAs(t, d, m, statement); fault != "" {
				t.Errorf("%s, %s: %s", name, m, fault)
			}
		}
	}
	if n := value(t, d, "id"); n != 1000 {
		t.Errorf("value %d: something was written", n)
	}
}

// failsAs makes a write fail by a statement, and returns what is wrong with the result.
func failsAs(t *testing.T, d *db.DB, m db.Meaning, statement func(tx *db.Tx) error) string {
	var used []int64
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		var id int64
		if err := tx.QueryRow(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			return err
		}
		used = append(used, id)
		if err := add(t.Context(), tx, "id"); err != nil {
			return err
		}
		return statement(tx)
	})
	runs := 1
	if m.Repeat {
		runs = 5
	}
	switch {
	case fault.KindOf(err) != m.Kind:
		return fmt.Sprintf("%v, want %v: %v", fault.KindOf(err), m.Kind, err)
	case errors.Is(err, db.ErrUnknownOutcome):
		return "the outcome is unknown, though nothing was committed"
	case len(used) != runs:
		return fmt.Sprintf("%d runs, want %d", len(used), runs)
	}
	slices.Sort(used)
	if m.Drop && len(slices.Compact(used)) != runs {
		return fmt.Sprintf("connections %v: one was used again", used)
	}
	return ""
}

// TestCommitAnswersANumber checks that the answer to COMMIT decides whether the write runs
// again, and whether its outcome is known.
func TestCommitAnswersANumber(t *testing.T) {
	r := &refusing{statement: "COMMIT"}
	d := r.open(t)
	want := int64(1000)
	for _, m := range db.Meanings {
		r.refused.Store(0)
		r.refuse.Store(&refusal{m.Number, m.Text(), 1})
		runs := 0
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			runs++
			return add(t.Context(), tx, "id")
		})
		r.refuse.Store(nil)
		if m.Again {
			want++
			if err != nil || runs != 2 {
				t.Errorf("%s: %d runs, %v; want a second one", m, runs, err)
			}
		} else {
			kind := m.Kind
			if m.Unknown {
				kind = fault.Transient
			}
			if runs != 1 || fault.KindOf(err) != kind || errors.Is(err, db.ErrUnknownOutcome) != m.Unknown {
				t.Errorf("%s: %d runs, %v; want %v, unknown %t", m, runs, err, kind, m.Unknown)
			}
		}
		if got := value(t, d, "id"); got != want {
			t.Fatalf("%s: value %d, want %d", m, got, want)
		}
	}
}

// TestWhatASessionLeavesOpenIsNotCommittedLater checks a Galera node that is not ready: it
// refuses COMMIT and ROLLBACK and keeps the transaction open. START TRANSACTION on the same
// connection would commit it.
func TestWhatASessionLeavesOpenIsNotCommittedLater(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		statement string
		fails     error
	}{
		{"COMMIT", nil},
		{"ROLLBACK", broken},
	} {
		t.Run(c.statement, func(t *testing.T) {
			r := &refusing{statement: c.statement}
			r.refuse.Store(&refusal{1047, "WSREP has not yet prepared node for application use", 1000})
			d := r.open(t)
			ctx := t.Context()
			err := d.Write(ctx, func(tx *db.Tx) error { return errors.Join(add(ctx, tx, "id"), c.fails) })
			if err == nil || c.fails == nil && fault.KindOf(err) != fault.Transient {
				t.Errorf("refused: %v", err)
			}
			r.refuse.Store(nil)
			for range 4 { // on each connection that the pool has
				if err := d.Write(ctx, func(tx *db.Tx) error { return add(ctx, tx, "audit") }); err != nil {
					t.Fatal(err)
				}
			}
			if id := value(t, d, "id"); id != 1000 {
				t.Errorf("value %d: what was refused has been committed", id)
			}
			if r.refused.Load() == 0 {
				t.Error("nothing was refused, so this shows nothing")
			}
		})
	}
}
