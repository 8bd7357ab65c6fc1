package blob_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

const oldRow = `INSERT INTO %s (id, type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by, name, attrs%s)
	VALUES (?, 41, 64, ?, 1, 1, 1, 20, 1, 20, 'N', ?%s)`

// TestOldContentsAreMoved checks that the migration moves the Base64 in old rows into the tables of
// package blob, stores each content once, and can run again.
func TestOldContentsAreMoved(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		content := random(3*blob.PartSize + 5)
		text := base64.StdEncoding.EncodeToString(content)
		old := func(s string) string {
			return fmt.Sprintf(`{"Filename": "a<ü>.bin", "Content": "%s", "Reference": "R"}`, s)
		}
		write(t, d, func(tx *db.Tx) error {
			for moment := range int64(3) {
				if _, err := tx.Exec(t.Context(), fmt.Sprintf(oldRow, "asset_version", ", until_moment, linked", ", 9, 0"), 5001, moment+1, old(text)); err != nil {
					return err
				}
			}
			_, err := tx.Exec(t.Context(), fmt.Sprintf(oldRow, "asset", "", ""), 5001, 3, old(text))
			if err == nil {
				_, err = tx.Exec(t.Context(), fmt.Sprintf(oldRow, "asset", "", ""), 5002, 4, nil)
			}
			if err == nil {
				_, err = tx.Exec(t.Context(), fmt.Sprintf(oldRow, "asset", "", ""), 5003, 5, old("no Base64"))
			}
			return err
		})
		for range 2 {
			write(t, d, func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), "DELETE FROM schema_migration WHERE version = 101")
				return err
			})
			if err := d.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ref := blob.RefOf(content)
		for _, query := range []string{"SELECT attrs FROM asset_version WHERE id = 5001", "SELECT attrs FROM asset WHERE id = 5001"} {
			rows, err := db.Column[string](t.Context(), d, query)
			if err != nil {
				t.Fatal(err)
			}
			for _, attrs := range rows {
				if !strings.Contains(attrs, ref.String()) || !strings.Contains(attrs, "a<ü>.bin") || len(attrs) > 300 {
					t.Errorf("%.400s", attrs)
				}
			}
		}
		if n, parts := count(t, d, "blob_content"), count(t, d, "blob_part"); n != 1 || parts != 4 {
			t.Errorf("%d contents of %d parts", n, parts)
		}
		s := blob.New(d, blob.Options{})
		if got := read(t, s, ref, 0, ref.Size); !bytes.Equal(got, content) {
			t.Error("other bytes")
		}
		kept, err := db.Column[string](t.Context(), d, "SELECT attrs FROM asset WHERE id = 5003")
		if err != nil || !strings.Contains(kept[0], "no Base64") {
			t.Errorf("what is no Base64: %v, %v", kept, err)
		}
	})
}

func write(t *testing.T, d *db.DB, do func(*db.Tx) error) {
	t.Helper()
	if err := d.Write(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}
