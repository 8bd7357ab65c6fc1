package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestRenamedAttachment renames an attachment of 4 MiB five times, and checks that its bytes are
// not stored again.
func TestRenamedAttachment(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := testdb.URL(t, dialect)
			settings := map[string]string{
				"ALDS_ADDR": "127.0.0.1:0", "DATABASE_URL": url, "REDIS_URL": testdb.Redis(t), "ALDS_SECRET_KEY": testKey,
				"ALDS_ADMIN_PASSWORD": "right", "ALDS_DATA_DIR": t.TempDir(), "ALDS_BLOB_URL": "file://" + t.TempDir(),
			}
			for _, inside := range []bool{false, true} {
				if inside {
					delete(settings, "ALDS_BLOB_URL")
				}
				r := start(t, settings, Standalone)
				renamed(t, r, url, inside)
				if err := r.stop(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func renamed(t *testing.T, r *running, url string, inside bool) {
	status, answer := r.ask(http.MethodPost, "/api/asset", "admin", "right", `[
		{"@s": {"AssetType": "Story", "Name": "S", "Scope": "Scope:0"}}, {"AssetType": "Attachment", "Name": "A", "Asset": "@s"}]`)
	_, id, _ := strings.Cut(answer, `"Attachment:`)
	if id, _, _ = strings.Cut(id, `"`); status != http.StatusOK || id == "" {
		t.Fatalf("%d %s", status, answer)
	}
	content := strings.Repeat(fmt.Sprintf("%-8v", inside), 512<<10)
	if status, answer := r.ask(http.MethodPost, "/attachment.img/"+id, "admin", "right", content); status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	before := storedBytes(t, url)
	for i := range 5 {
		body := fmt.Sprintf(`{"from": "Attachment:%s", "update": {"Name": "A%d"}}`, id, i)
		if status, answer := r.ask(http.MethodPost, "/api/asset", "admin", "right", body); status != http.StatusOK || !strings.Contains(answer, `"commandFailures":{"commands":[],`) {
			t.Fatalf("%d %s", status, answer)
		}
	}
	after := storedBytes(t, url)
	if t.Logf("%d bytes before, %d after", before, after); after-before > 64<<10 || inside && before < 4<<20 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	if status, answer := r.ask(http.MethodGet, "/attachment.img/"+id, "admin", "right", ""); status != http.StatusOK || answer != content {
		t.Errorf("%d, %d bytes", status, len(answer))
	}
}

// storedBytes returns the number of bytes of all versions and contents in the database.
func storedBytes(t *testing.T, url string) (n int64) {
	t.Helper()
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for _, query := range []string{
		"SELECT COALESCE(SUM(LENGTH(attrs)), 0) FROM asset", "SELECT COALESCE(SUM(LENGTH(attrs)), 0) FROM asset_version",
		"SELECT COALESCE(SUM(LENGTH(text)), 0) FROM asset_text",
		"SELECT COALESCE(SUM(LENGTH(bytes)), 0) FROM blob_part",
	} {
		var some int64
		if err := d.QueryRow(t.Context(), query).Scan(&some); err != nil {
			t.Fatal(err)
		}
		n += some
	}
	return n
}
