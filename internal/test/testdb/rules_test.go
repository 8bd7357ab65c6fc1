package testdb

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// TestStatementsOf checks that statementsOf splits a text into statements, and removes only the values from
// them.
func TestStatementsOf(t *testing.T) {
	for text, want := range map[string][]string{
		"SELECT a.id, `b` FROM t a WHERE x = 'it''s \\' ; ' AND y IN (1, -2.5e3, NULL, ?)": {"SELECT a.id, `b` FROM t a WHERE x = ? AND y IN (?…)"},
		"INSERT INTO t (a, b) VALUES (?,?),(?,?),(?,?)":                                    {"INSERT INTO t (a, b) VALUES (?…)…"},
		"INSERT INTO t (a) VALUES (_binary'\x00;')":                                        {"INSERT INTO t (a) VALUES (?…)…"},
		"SAVEPOINT p12; UPDATE t SET a = NULL WHERE b - 1 > 2;":                            {"SAVEPOINT p1", "UPDATE t SET a = NULL WHERE b - ? > ?"},
		"SET SESSION a = DEFAULT /*M!100101 , b = 1 */ /*!50708 , c = 2 */":                {"SET SESSION a = DEFAULT, c = ?"},
		"CREATE TABLE t (a INT) /*T! SHARD_ROW_ID_BITS=4 */ /* why */ -- and\n":            {"CREATE TABLE t (a INT) SHARD_ROW_ID_BITS = ? - - and"},
		"SELECT 'never ends": {"SELECT ?"},
		" ; ":                nil,
	} {
		var got []string
		for _, s := range statementsOf(text) {
			got = append(got, s.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\nis %q\nwant %q", text, got, want)
		}
	}
}

// TestRules checks that the rules find forbidden statements, in upper case and in lower case.
func TestRules(t *testing.T) {
	for text, want := range map[string]string{
		"select * from t for share":                                                    "FOR SHARE",
		"SELECT a FROM t LOCK IN SHARE MODE":                                           "LOCK IN SHARE MODE",
		"SELECT GET_LOCK('x', 1)":                                                      "not in the list: GET_LOCK",
		"SELECT a FROM t FOR UPDATE SKIP LOCKED":                                       "SKIP LOCKED",
		"INSERT INTO t (a) VALUES (1) RETURNING a":                                     "RETURNING",
		"CREATE TABLE IF NOT EXISTS t (a INT AUTO_INCREMENT PRIMARY KEY)":              "AUTO_INCREMENT",
		"CREATE TABLE t (a INT)":                                                       "not in the list: CREATE",
		"CREATE TABLE IF NOT EXISTS t (a TEXT) COLLATE utf8mb4_0900_ai_ci":             "collation",
		"SELECT a INTO OUTFILE 'x' FROM t":                                             "OUTFILE",
		"DELETE FROM t":                                                                "without a condition",
		"UPDATE t SET a = 1":                                                           "without a condition",
		"DELETE FROM t WHERE a < 1":                                                    "by a range",
		"SELECT SOUNDEX(a) FROM t":                                                     "not in the list: SOUNDEX",
		"SET SESSION wsrep_sync_wait = 1":                                              "not in the list: WSREP_SYNC_WAIT",
		"SET GLOBAL time_zone = 'x'":                                                   "not in the list: SET",
		"START TRANSACTION READ ONLY":                                                  "READ ONLY",
		"SELECT v FROM JSON_TABLE(?, '$[*]' COLUMNS(v BIGINT PATH '$')) l":             "JSON_TABLE",
		"ALTER TABLE t ADD COLUMN a INT, ADD KEY k (a)":                                "against the table as it is",
		"SELECT 1 FROM a JOIN b ON b.x = a.x AND EXISTS (SELECT 1 FROM c)":             "subquery in ON",
		"SELECT 1 FROM a LEFT JOIN b ON (b.x = (SELECT 1)) WHERE a.x = 1":              "subquery in ON",
		"SELECT 1 FROM a JOIN (SELECT 1 AS x) b ON b.x = 1 WHERE x IN (SELECT 1)":      "",
		"WITH w (a, b) AS (SELECT 1, 2) SELECT COUNT(*) AS `for share` FROM w":         "",
		"INSERT INTO t (a) VALUES ('FOR SHARE') ON DUPLICATE KEY UPDATE a = VALUES(a)": "",
	} {
		broken := strings.Join(statementsOf(text)[0].broken(slices.Concat(everywhere, onTiDB)), "\n")
		if want == "" && broken != "" || !strings.Contains(broken, want) {
			t.Errorf("%s\nbreaks %q\nwant %q", text, broken, want)
		}
	}
}

// TestRecorder checks that a recorder records prepared statements, statements sent as text, and several
// statements in one message.
func TestRecorder(t *testing.T) {
	d, r := MySQL(t), local.server.recorder
	ctx := context.Background()
	most, err := db.Column[int](ctx, d, "SELECT @@max_allowed_packet")
	if err != nil {
		t.Fatal(err)
	}
	const length = 20 << 20
	err = d.Write(ctx, func(tx *db.Tx) error {
		for _, name := range []string{"recorded", strings.Repeat("x", length)} { // the second statement needs several packets
			if _, err := tx.Later().Exec(ctx, "UPDATE sequence SET value = 0 WHERE name = ?", name); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "UPDATE sequence SET value = 1 WHERE name = 'recorded'")
		return err
	})
	if err != nil && most[0] > length { // if it is too long, the server refuses it, or closes the connection early
		t.Error(err)
	}
	all := r.Statements()
	for _, want := range []string{"UPDATE sequence SET value = ? WHERE name = ?", "START TRANSACTION", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"} {
		if !slices.ContainsFunc(all, func(s Sent) bool { return s.Text == want && s.Times > 0 }) {
			t.Errorf("%q was sent and is not known", want)
		}
	}
}

// large has the columns that accept values of more than 6 MB, the largest row that TiDB accepts by default.
// The map value describes the largest value of the column. docs/engines.md describes the setting of TiDB.
var large = map[string]string{
	"asset.description":                "15 MiB, asset.maxColumn",
	"asset.attrs":                      "15 MiB, asset.maxColumn",
	"asset.folded":                     "as the texts of the row",
	"asset_version.description":        "as asset.description",
	"asset_version.attrs":              "as asset.attrs",
	"asset_version.folded":             "as asset.folded",
	"asset_text.text":                  "as those of asset_version",
	"bulk_request.request":             "15 MiB, requests.maxStored",
	"bulk_request.answer":              "15 MiB, requests.maxStored",
	"bulk_request.progress":            "15 MiB, requests.maxStored",
	"proposal.request":                 "4 MiB, requests.maxProposalSize",
	"proposal.effect":                  "4 MiB, requests.maxProposalSize",
	"webhook_payload.body":             "256 KiB, webhook.maxBytes, or one event, which has a text before and after",
	"webhook_delivery.payload":         "as webhook_payload.body; of deliveries from before it",
	"webhook_subscription.event_types": "100 definitions, as long as one body may be",
	"blob_part.bytes":                  "256 KiB, blob.PartSize",
	"audit.folded":                     "64 KiB, as audit.comment",
	"system_check.findings":            "20 findings of each check",
}

// TestLargeColumns checks that large has every column that accepts more than 6 MB.
func TestLargeColumns(t *testing.T) {
	d := MySQL(t)
	found, err := db.Column[string](context.Background(), d, `SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns
		WHERE table_schema = DATABASE() AND data_type IN ('longtext', 'longblob', 'mediumtext', 'mediumblob', 'json')`)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if large[name] == "" {
			t.Errorf("the column %s may be larger than a row of TiDB: bound it, and name it in large and docs/engines.md", name)
		}
	}
	if len(found) != len(large) {
		t.Errorf("%d columns are large, %d are known", len(found), len(large))
	}
}
