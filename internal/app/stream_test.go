package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// The number of stories in the answers of these tests, and the number of bytes in the name of each
// story. The answers are much larger than the buffers of a connection.
const (
	streamedRows = 1 << 15
	streamedName = 1 << 10
)

// TestLargeAnswers checks answers that are too large for memory: a complete answer, an answer whose
// client disconnects, and an answer whose database connection ends.
func TestLargeAnswers(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		url := testdb.URL(t, "mysql")
		settings := map[string]string{
			"ALDS_ADDR": "127.0.0.1:0", "DATABASE_URL": url, "REDIS_URL": testdb.Redis(t), "ALDS_SECRET_KEY": testKey,
		}
		if err := Migrate(t.Context(), Environment{Getenv: env(settings), Stderr: io.Discard}, API); err != nil {
			t.Fatal(err)
		}
		r := start(t, settings, API)
		d := r.fill(url)
		r.checkWhole()
		r.checkGone()
		r.checkKilled(d)
	})
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		r := start(t, map[string]string{"ALDS_DATA_DIR": dir, "ALDS_ADDR": "127.0.0.1:0"}, Standalone)
		r.fill("sqlite:" + filepath.Join(dir, "alds.db"))
		r.checkWhole()
		r.checkGone()
	})
}

// fill copies one story in the database until there are streamedRows stories.
func (r *running) fill(url string) *db.DB {
	r.t.Helper()
	ctx := context.Background()
	made := r.bulk(fmt.Sprintf(`{"AssetType": "Story", "Name": %q, "Scope": "Scope:0"}`, strings.Repeat("n", streamedName)))
	var id int64
	if _, err := fmt.Sscanf(made.AssetsCreated.OidTokens[0], "Story:%d", &id); err != nil {
		r.t.Fatal(err)
	}
	d, err := db.Open(ctx, url, db.Options{MaxConns: 2})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = d.Close() })
	const columns = "type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by, scope_id, name, attrs"
	for have := int64(1); have < streamedRows; have *= 2 {
		_, err := d.Exec(ctx, "INSERT INTO asset (id, "+columns+") SELECT id + ?, "+columns+" FROM asset WHERE id >= ? AND id < ?", have, id, id+have)
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return d
}

// askAll requests all stories and returns when the answer has begun.
func (r *running) askAll() *http.Response {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.base+"/query.v1", strings.NewReader(`{"from": "Story", "select": ["Name"]}`))
	if err != nil {
		r.t.Fatal(err)
	}
	req.SetBasicAuth("admin", adminPassword)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.ContentLength >= 0 {
		r.t.Fatalf("status %d, length %d; want 200 and no length", resp.StatusCode, resp.ContentLength)
	}
	return resp
}

func (r *running) checkWhole() {
	r.t.Helper()
	resp := r.askAll()
	defer resp.Body.Close()
	var rows [][]struct {
		OID  string `json:"_oid"`
		Name string
	}
	if err := json.NewDecoder(resp.Body).Decode(&rows); err != nil {
		r.t.Fatal(err)
	}
	if len(rows) != 1 || len(rows[0]) != streamedRows || len(rows[0][streamedRows-1].Name) != streamedName {
		r.t.Errorf("%d result sets, not one of %d rows", len(rows), streamedRows)
	}
}

// brokenBy waits for the log line of an answer that ended early, and returns its broken_by.
func (r *running) brokenBy() string {
	r.t.Helper()
	for text := range r.lines.all {
		var line struct {
			By string `json:"broken_by"`
		}
		if json.Unmarshal([]byte(text), &line) == nil && line.By != "" {
			return line.By
		}
	}
	r.t.Fatal("the log ended")
	return ""
}

func (r *running) checkGone() {
	r.t.Helper()
	resp := r.askAll()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1<<20)); err != nil {
		r.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if by := r.brokenBy(); by != "client" {
		r.t.Errorf("the client went, and the answer was broken by the %s", by)
	}
	r.checkFree()
}

// checkFree checks that the service soon uses no database connection. A connection counts as used
// for a moment after its transaction has ended.
func (r *running) checkFree() {
	r.t.Helper()
	eventually(r.t, "no connection is in use", r.isFree) // SQLite may use a connection while it gathers statistics
}

// checkKilled ends the connections of the service at the database server while a client reads an
// answer.
func (r *running) checkKilled(d *db.DB) {
	r.t.Helper()
	resp := r.askAll()
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1<<20)); err != nil {
		r.t.Fatal(err)
	}
	rows, err := d.Query(context.Background(), "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()")
	if err != nil {
		r.t.Fatal(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(ids) == 0 {
		r.t.Fatalf("no connections to end: %v", err)
	}
	for _, id := range ids {
		// The statement fails if the connection has already ended.
		_, _ = d.Exec(context.Background(), fmt.Sprintf("KILL CONNECTION %d", id))
	}
	if n, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		r.t.Errorf("after %d more bytes the answer ended with %v", n, err)
	}
	if by := r.brokenBy(); by != "server" {
		r.t.Errorf("the database went, and the answer was broken by the %s", by)
	}
	var again [][]struct{}
	r.do("POST", "/query.v1", `{"from": "Story", "page": {"size": 1}}`, &again)
	if len(again) != 1 || len(again[0]) != 1 {
		r.t.Errorf("the service does not go on: %v", again)
	}
}
