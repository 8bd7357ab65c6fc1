package requests_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/requests"
)

// TestTheBodyOfAFinishedRequestIsGone checks that the statement that ends an accepted request
// also removes its body: from the row, and from the file of SQLite.
func TestTheBodyOfAFinishedRequestIsGone(t *testing.T) {
	const body = "a body that nobody needs any more"
	endings := map[string]func(t *testing.T, b *requests.Store, d *db.DB, c *requests.Claim) error{
		"answered": func(t *testing.T, _ *requests.Store, _ *db.DB, c *requests.Claim) error {
			return c.Complete(t.Context(), []byte("{}"))
		},
		"refused": func(t *testing.T, _ *requests.Store, _ *db.DB, c *requests.Claim) error {
			return c.Refuse(t.Context(), fault.Invalidf(0, "No"))
		},
		"answered with its change": func(t *testing.T, b *requests.Store, d *db.DB, c *requests.Claim) error {
			e, _, err := b.Begin(t.Context(), member, c.ID, requests.Identity{Hash: hash, Claim: c})
			if err != nil {
				return err
			}
			defer e.End()
			return d.Write(t.Context(), func(tx *db.Tx) error { return e.StoreAnswer(t.Context(), tx, []byte("{}")) })
		},
		"given up": func(t *testing.T, b *requests.Store, d *db.DB, _ *requests.Claim) error {
			for range 4 {
				expire(t, d)
				claim(t, b)
			}
			expire(t, d)
			if c := claim(t, b); c != nil {
				t.Errorf("claimed a sixth time")
			}
			return nil
		},
	}
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			url := testdb.URL(t, dialect)
			d, err := db.Open(t.Context(), url, db.Options{MaxConns: 4})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			b := requests.New(d)
			for what, end := range endings {
				accept(t, b, "", strings.Repeat(body+" ", 500))
				if err := end(t, b, d, claim(t, b)); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			var left, done int
			err = d.QueryRow(t.Context(), `SELECT COUNT(request), COUNT(*) FROM bulk_request WHERE status <> 0`).Scan(&left, &done)
			if err != nil || left != 0 || done != len(endings) {
				t.Errorf("%d bodies left of %d finished requests, %v", left, done, err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if file, ok := strings.CutPrefix(url, "sqlite:"); ok {
				if b, err := os.ReadFile(file); err != nil || bytes.Contains(b, []byte(body)) {
					t.Errorf("the file still has the body, %v", err)
				}
			}
		})
	}
}
