package check_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/tables"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// others are statements that add rows to the tables that are still empty after the requests in
// history.
var others = []string{
	`UPDATE audit SET feed = 3, generation = 3 WHERE id = 1`,
	`UPDATE sequence SET value = 3 WHERE name IN ('feed', 'webhook')`,
	`UPDATE credential SET password_hash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g', version = 1000000 WHERE member_id = 1007`,
	`INSERT INTO credential (member_id, username, folded, version, disabled) VALUES (20, 'admin', 'admin', 1, 0)`,
	`INSERT INTO audit_trail (at, id, kind, member_id, events, detail) VALUES (1000000, 1, 'LoginChanged', 1007, 1, '{"changed":["Username","Password"]}')`,
	`INSERT INTO access_token (id, member_id, name, token_hash, created_at) VALUES ('t', 1007, 't', 'h', 1)`,
	`INSERT INTO session (id_hash, member_id, created_at, expires_at) VALUES ('s', 1007, 1, 2)`,
	`INSERT INTO proposal (asset_id, plan_id, member_id, request, effect, subscriptions) VALUES (1, 'p', 20, 'r', 'e', 0)`,
	`INSERT INTO bulk_request (id, actor_id, body_hash, status, created_at, expires_at) VALUES ('b', 20, 'h', 2, 1, 2)`,
	`INSERT INTO webhook_subscription (id, url, enabled, event_types, created_at, updated_at, created_by, since_generation, generation) VALUES ('w', 'http://x', 1, '[]', 1, 1, 20, 0, 0)`,
	`INSERT INTO webhook_payload (id, body, created_at) VALUES ('p', '[]', 1)`,
	`INSERT INTO webhook_delivery (id, subscription_id, audit_id, first_moment, last_moment, events, payload, payload_id, state, due, committed_at, created_at) VALUES ('d', 'w', 1, 1001, 1001, 1, '', 'p', 0, 1, 1, 1)`,
	`INSERT INTO webhook_receipt (id, subscription_id, delivery_id, url, has_authorization, status, at, retry_count, was_received) VALUES ('r', 'w', 'd', 'http://x', 0, 200, 1, 0, 1)`,
	`INSERT INTO unfinished_restore (id, began_at) VALUES (1, 1)`,
	`INSERT INTO secret_check (id, sealed) VALUES (1, 's')`,
	`INSERT INTO definition_purge (definition_id, done_id) VALUES (1, 1)`,
	`INSERT INTO localization (tag, language, content) VALUES ('t', 'en', 'x')`,
	`INSERT INTO setting (name, value) VALUES ('StoryTrackingLevel', 'On')`,
	`INSERT INTO process (id, role, version, host, started, seen, slow_queries) VALUES ('p', 'api', 'v', 'h', 1, 1, '[]')`,
	`INSERT INTO blob_part (content, n, bytes) SELECT id, 7, '' FROM blob_content`,
}

func fill(t *testing.T, d *db.DB) {
	t.Helper()
	build(t, d)
	for _, statement := range others {
		exec(t, d, statement)
	}
}

// unfound are damages that no check can find. The field why contains the reason.
var unfound = []struct{ why, sql string }{
	{"no row refers to an access token", `DELETE FROM access_token`},
	{"a restore that has finished leaves no row", `DELETE FROM unfinished_restore`},
	{"no release writes to the table session", `DELETE FROM session`},
	{"no row refers to an accepted request", `DELETE FROM bulk_request`},
	{"a proposal may have no plan", `DELETE FROM proposal`},
	{"a subscription may have been deleted: its deliveries are dropped when they are due", `DELETE FROM webhook_subscription`},
	{"deliveries are removed when they have ended", `DELETE FROM webhook_delivery`},
	{"receipts are removed when there are many", `DELETE FROM webhook_receipt`},
	{"the next start writes the row again", `DELETE FROM secret_check`},
	{"events are removed when they are old", `DELETE FROM audit_trail`},
	{"a purge that has ended leaves no row", `DELETE FROM definition_purge`},
	{"texts may have been removed", `DELETE FROM localization`},
	{"a setting that nobody has set has no row", `DELETE FROM setting`},
	{"a process may have ended; a running process writes its row again within ten seconds", `DELETE FROM process`},
	{"package blob checks the parts of contents; `api check` also prints its findings", `DELETE FROM blob_part`},
	{"no other row has the values of a past version", `UPDATE asset_version SET description = 'x' WHERE id = 1005 AND moment = created_moment`},
	{"versions only have the number of their links", `UPDATE asset_link SET to_id = 1003 WHERE from_id = 1011 AND relation = 5`},
	{"no other row has the role of a member", `UPDATE scope_member SET role_id = -999 WHERE scope_id = 1001`},
	{"versions of well-known assets do not have the number of their links", `DELETE FROM asset_link WHERE since_moment = 0 AND relation <> 34`},
	{"rows of write_lock are created when they are locked", `INSERT INTO write_lock (slot, lock_count) VALUES (999, 1)`},
	{"the number of a member's writes depends on no other row", `INSERT INTO member_write (member_id, slot, writes) VALUES (20, 999, 1)`},
	{"no other row has the hash of a password", `UPDATE credential SET password_hash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2k'`},
}

// more contains further damages. They damage rows that the function fill creates.
var more = []damage{
	{"one of several links that began together", `DELETE FROM asset_link WHERE from_id = 1005 AND relation = 1 AND until_moment > 99999`, "number of links: asset_version 1005", false},
	{"a link that has ended", `DELETE FROM asset_link WHERE from_id = 1005 AND relation = 1 AND until_moment < 99999`, "number of links: asset_version 1005", false},
	{"all links of an asset", `DELETE FROM asset_link WHERE from_id = 1011`, "number of links: asset_version 1011", false},
	{"a tag that is gone", `DELETE FROM asset_value WHERE value = 'b'`, "number of links: asset_version 1005", false},
	{"an additional link", `INSERT INTO asset_link VALUES (5, 4, 1011, 1011, 1011, 9223372036854775807)`, "number of links: asset_version 1011", false},
	{"a member's link to a project", `DELETE FROM asset_link WHERE from_id = 1001 AND relation = 34`, "memberships: scope_member 1001", true},
	{"a former member's link to a project", `DELETE FROM asset_link WHERE from_id = 1002 AND relation = 34`, "memberships: scope_member 1002", true},
	{"the status that a timebox has", `DELETE FROM asset_link WHERE from_id = 1010 AND relation = 39 AND until_moment > 99999`, "states: asset 1010", true},
	{"the status that a timebox had", `DELETE FROM asset_link WHERE from_id = 1010 AND relation = 39`, "states: asset 1010", true},
	{"an audit", `DELETE FROM audit WHERE id = 2`, "audit of a version: asset_version 1002", false},
	{"a sequence", `DELETE FROM sequence WHERE name = 'id'`, "sequences: sequence 0", true},
	{"a sequence of Numbers", `DELETE FROM sequence WHERE name = 'number:Story'`, "numbers: sequence 0", true},
	{"the generation of the model", `DELETE FROM sequence WHERE name = 'model'`, "rows of migrations: sequence 0", true},
	{"the codes of custom attributes", `DELETE FROM sequence WHERE name = 'custom type'`, "rows of migrations: sequence 0", false},
	{"the moment from which on history is kept", `DELETE FROM sequence WHERE name = 'horizon'`, "rows of migrations: sequence 0", false},
	{"a lock", `DELETE FROM tree_lock WHERE name = 'Scope'`, "rows of migrations: tree_lock 0", true},
	{"the row of checks", `DELETE FROM system_check`, "rows of migrations: system_check 0", true},
	{"a stamp of the past", `DELETE FROM moment_stamp WHERE last_moment = (SELECT m FROM (SELECT MIN(last_moment) AS m FROM moment_stamp) x)`, "moment stamps: moment_stamp", true},
	{"a stamp of another instant", `UPDATE moment_stamp SET at = at - 1 WHERE last_moment = (SELECT m FROM (SELECT MIN(last_moment) AS m FROM moment_stamp) x)`, "moment stamps: moment_stamp", true},
	{"a login", `DELETE FROM credential WHERE member_id = 1007`, "logins: asset 1007", false},
	{"a password", `UPDATE credential SET password_hash = NULL WHERE member_id = 1007`, "passwords: credential 1007", false},
	{"a password that is empty", `UPDATE credential SET password_hash = '' WHERE member_id = 1007`, "passwords: credential 1007", false},
	{"a password that is cut", `UPDATE credential SET password_hash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$' WHERE member_id = 1007`, "passwords: credential 1007", false},
	{"a payload", `DELETE FROM webhook_payload`, "payloads: webhook_delivery 1", false},
	{"two names that were exchanged", `UPDATE asset SET name = CASE id WHEN 1005 THEN 'S2' ELSE 'S!' END WHERE id IN (1005, 1011)`, "current version: asset 1005", true},
	{"an asset with a moment that has no version", `UPDATE asset SET moment = moment + 5000 WHERE id = 1005`, "current version: asset 1005", true},
	{"a version that ends after the next version begins", `UPDATE asset_version SET until_moment = until_moment + 5000 WHERE id = 1005 AND moment = created_moment`, "versions: asset_version 1005", true},
	{"an attribute in the JSON", `UPDATE asset SET attrs = NULL WHERE id = 1005`, "current version: asset 1005", true},
	{"the project tree", `DELETE FROM scope_closure`, "project tree: scope_closure", true},
	{"the hidden projects", `DELETE FROM scope_hidden`, "hidden projects: scope_hidden", true},
	{"the stamps", `DELETE FROM moment_stamp`, "moment stamps: asset_version", true},
	{"a text", `DELETE FROM asset_text WHERE asset_id = 1005 AND hash = (SELECT description_hash FROM asset WHERE id = 1005)`, "texts: asset_version 1005", true},
	{"a text that was changed", `UPDATE asset_text SET text = 'x' WHERE asset_id = 1005`, "texts: asset_text 1005", false},
	{"a text that no version has", `INSERT INTO asset_text (asset_id, hash, text) VALUES (1005, X'30313233343536373839616263646566', 'x')`, "texts: asset_text 1005", true},
	{"the assets", `DELETE FROM asset`, "versions: asset_version", true},
}

// loosely are tables that tests do not compare after a repair, because the repair may store other
// values in them. A sequence gets the highest value in use, which may be lower than the value
// before the damage. A row of moment_stamp may end at a moment that has no version. The repair then
// stores the moment of a version instead.
var loosely = []string{"sequence", "moment_stamp"}

// TestEachTableIsDamaged expects at least one damage for every table. The damage may be in all() or
// in unfound.
func TestEachTableIsDamaged(t *testing.T) {
	d := testdb.SQLite(t)
	damaged := map[string]bool{"schema_migration": true} // without its rows the command fails before the checks run
	for _, c := range all() {
		damaged[tableOf(c.sql)] = true
	}
	for _, u := range unfound {
		damaged[tableOf(u.sql)] = true
	}
	for _, table := range tablesOf(t, d) {
		if !damaged[table.Name] {
			t.Errorf("no damage of %s", table.Name)
		}
		delete(damaged, table.Name)
	}
	if len(damaged) > 0 {
		t.Errorf("damages of tables that do not exist: %v", slices.Collect(maps.Keys(damaged)))
	}
}

func tableOf(statement string) string {
	words := strings.Fields(statement)
	if words[0] == "UPDATE" {
		return words[1]
	}
	return words[2]
}

// TestUnfound expects that the checks find none of the damages in unfound. With -short, it makes
// all these damages at once.
func TestUnfound(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d)
		if testing.Short() {
			var statements []string
			for _, u := range unfound {
				statements = append(statements, u.sql)
			}
			if found := damaged(t, d, "", statements...); found != "" {
				t.Errorf("found; the long form says which damage it is:\n%s", found)
			}
			return
		}
		for _, u := range unfound {
			if found := damaged(t, d, "", u.sql); found != "" {
				t.Errorf("%s: %s is found:\n%s", u.why, u.sql, found)
			}
		}
	})
}

func present(context.Context) (*meta.Model, error) { return model, nil }

// mending returns a repair that appends each fixed finding to mended.
func mending(mended *[]check.Finding) check.Repair {
	return check.Repair{
		Guard:  func(context.Context, db.Querier) error { return nil },
		Record: func(context.Context, *db.Tx, string, int) error { return nil },
		Mended: func(f check.Finding) { *mended = append(*mended, f) },
	}
}

// TestRepair makes each damage that can be fixed. The plan must show the finding and change
// nothing. The repair must restore every table, and then no check must find anything. With -short,
// TestRepair makes one damage for each check, and tests the plan for only three of them.
func TestRepair(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d)
		before, planned := contents(t, d), map[string]bool{}
		for _, c := range all() {
			if !c.mended || testing.Short() && planned[c.ruleOf()] {
				continue
			}
			exec(t, d, c.sql)
			if !planned[c.ruleOf()] && (!testing.Short() || len(planned) < 3) {
				shows(t, d, c)
			}
			planned[c.ruleOf()] = true
			repaired(t, d, c, before)
		}
	})
}

// repaired repairs a damage, and expects the same contents of the tables as before the damage.
func repaired(t *testing.T, d *db.DB, c damage, before map[string][]string) {
	t.Helper()
	var mended []check.Finding
	left, err := mending(&mended).Do(t.Context(), d, present)
	if err != nil || len(left) > 0 || len(mended) == 0 {
		t.Fatalf("%s: %d fixed, %v left: %v", c.why, len(mended), left, err)
	}
	after := contents(t, d)
	if diff := difference(before, after, loosely); diff != "" {
		t.Fatalf("%s: after the repair: %s", c.why, diff)
	}
	if testing.Short() && difference(before, after, nil) == "" {
		return // the database is the same as before the damage, when it had no findings
	}
	var found []check.Finding
	err = d.Read(t.Context(), func(tx *db.Tx) (err error) {
		found, err = check.RunIn(t.Context(), tx, model)
		return err
	})
	if err != nil || len(found) > 0 {
		t.Fatalf("%s: findings after the repair: %v, %v", c.why, found, err)
	}
}

// shows expects that the plan has a finding that can be fixed, and that the plan changes nothing.
func shows(t *testing.T, d *db.DB, c damage) {
	t.Helper()
	damaged := contents(t, d)
	found, err := check.Plan(t.Context(), d, present)
	if err != nil || !slices.ContainsFunc(found, func(f check.Finding) bool {
		return len(f.Mends()) > 0 && strings.Contains(f.String(), "`api repair` fixes it")
	}) {
		t.Fatalf("%s: the plan has nothing to fix: %v, %v", c.why, found, err)
	}
	if diff := difference(damaged, contents(t, d), nil); diff != "" {
		t.Fatalf("%s: the plan has changed the database: %s", c.why, diff)
	}
}

// TestRepairOfDoubles expects that a repair replaces two overlapping links with one link. If two
// roles overlap, the repair must end the earlier role when the later role begins.
func TestRepairOfDoubles(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d)
		for _, statement := range []string{
			`INSERT INTO asset_link (relation, from_type, from_id, to_id, since_moment, until_moment)` +
				` SELECT relation, from_type, from_id, to_id, since_moment + 1, until_moment FROM asset_link WHERE relation = 34 AND from_id = 1001`,
			`UPDATE asset_link SET until_moment = since_moment + 2 WHERE relation = 34 AND from_id = 1001 AND since_moment = (SELECT since_moment FROM scope_member WHERE scope_id = 1001)`,
			`INSERT INTO scope_member (scope_id, member_id, role_id, is_owner, since_moment, until_moment)` +
				` SELECT scope_id, member_id, role_id, 0, since_moment + 1, until_moment FROM scope_member WHERE scope_id = 1001`,
		} {
			exec(t, d, statement)
		}
		var mended []check.Finding
		if _, err := mending(&mended).Do(t.Context(), d, present); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]int64{
			`SELECT COUNT(*) FROM asset_link WHERE relation = 34 AND from_id = 1001`:                                                                                 1,
			`SELECT COUNT(*) FROM asset_link WHERE relation = 34 AND from_id = 1001 AND until_moment = 9223372036854775807`:                                          1,
			`SELECT COUNT(*) FROM scope_member WHERE scope_id = 1001 AND until_moment = 9223372036854775807`:                                                         1,
			`SELECT is_owner FROM scope_member WHERE scope_id = 1001 AND until_moment = 9223372036854775807`:                                                         0,
			`SELECT MIN(s.until_moment) - MIN(s.since_moment) FROM scope_member s WHERE scope_id = 1001 AND s.is_owner = 1`:                                          1,
			`SELECT MIN(l.since_moment) - MIN(s.since_moment) FROM scope_member s JOIN asset_link l ON l.from_id = 1001 WHERE l.relation = 34 AND s.scope_id = 1001`: 0,
		} {
			var got int64
			if err := d.QueryRow(t.Context(), query).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %d, %v", query, got, err)
			}
		}
	})
}

// TestRepairOfALinkThatDidNotEnd lets a link continue that had ended before the same link began again.
// The repair cannot know when the first link ended. It makes one link of the two, and the finding of
// the version that ended the first link remains.
func TestRepairOfALinkThatDidNotEnd(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d)
		exec(t, d, `UPDATE asset_link SET until_moment = 9223372036854775807 WHERE from_id = 1005 AND relation = 1`)
		var mended []check.Finding
		left, err := mending(&mended).Do(t.Context(), d, present)
		if err != nil || len(mended) != 1 || len(left) != 1 {
			t.Fatalf("%v fixed, %v left: %v", mended, left, err)
		}
		if text := left[0].String(); !strings.HasPrefix(text, "number of links: asset_version 1005") || !strings.Contains(text, "compare the asset with a backup") {
			t.Error(text)
		}
	})
}

// TestRepairGoesOn interrupts a repair. Each transaction must be complete or have no effect, and
// the repair must continue when it runs again. If rows that other rows are derived from cannot be
// fixed, the repair must end without changes.
func TestRepairGoesOn(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d)
		before := contents(t, d)
		for _, statement := range []string{`DELETE FROM scope_closure`, `DELETE FROM scope_hidden`, `UPDATE audit SET folded = 'x'`, `DELETE FROM asset WHERE id = 1011`} {
			exec(t, d, statement)
		}
		stop := errors.New("killed")
		for at := range 20 {
			var mended []check.Finding
			r, calls := mending(&mended), 0
			r.Record = func(context.Context, *db.Tx, string, int) error {
				if calls++; calls > 1 {
					return fmt.Errorf("%d: %w", at, stop)
				}
				return nil
			}
			left, err := r.Do(t.Context(), d, present)
			if err == nil && len(left) == 0 {
				break
			}
			if !errors.Is(err, stop) {
				t.Fatal(left, err)
			}
		}
		if diff := difference(before, contents(t, d), nil); diff != "" {
			t.Error(diff)
		}
		exec(t, d, `DELETE FROM asset_version WHERE id = 1002 AND moment > created_moment AND until_moment < 99999`)
		exec(t, d, `DELETE FROM scope_hidden`)
		damaged := contents(t, d)
		var mended []check.Finding
		if left, err := mending(&mended).Do(t.Context(), d, present); err != nil || len(left) == 0 || len(mended) > 0 {
			t.Errorf("%v left, %v fixed: %v", left, mended, err)
		}
		if diff := difference(damaged, contents(t, d), nil); diff != "" {
			t.Errorf("the repair derived rows from damaged versions: %s", diff)
		}
	})
}

// contents returns, by table, the rows as sorted texts. It omits the counters of locks and of
// writes.
func contents(t *testing.T, d *db.DB) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range tablesOf(t, d) {
		if table.Name == "write_lock" || table.Name == "member_write" {
			continue
		}
		table.Columns = slices.DeleteFunc(table.Columns, func(c tables.Column) bool { return c.Name == db.LockCount })
		rows, err := db.Collect(t.Context(), d, `SELECT `+strings.Join(quoted(d, table.Names()), ", ")+` FROM `+table.Name, nil, func(r db.Scanner) (string, error) {
			values, into := make([]*string, len(table.Columns)), make([]any, len(table.Columns))
			for i := range values {
				into[i] = &values[i]
			}
			err := r.Scan(into...)
			var b strings.Builder
			for i, v := range values {
				if v != nil {
					fmt.Fprintf(&b, " %s=%s", table.Columns[i].Name, *v)
				}
			}
			return b.String(), err
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(rows)
		all[table.Name] = rows
	}
	return all
}

func quoted(d *db.DB, names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = d.Dialect.Quote(name)
	}
	return all
}

// difference returns the rows that are in only one of two contents of tables. It ignores the tables
// that the parameter but lists.
func difference(before, after map[string][]string, but []string) string {
	var b strings.Builder
	for _, table := range slices.Sorted(maps.Keys(before)) {
		if slices.Contains(but, table) {
			continue
		}
		for _, row := range before[table] {
			if !slices.Contains(after[table], row) {
				fmt.Fprintf(&b, "%s: missing:%s\n", table, row)
			}
		}
		for _, row := range after[table] {
			if !slices.Contains(before[table], row) {
				fmt.Fprintf(&b, "%s: added:%s\n", table, row)
			}
		}
	}
	return b.String()
}

func tablesOf(t *testing.T, d *db.DB) []tables.Table {
	t.Helper()
	all, err := tables.All(t.Context(), d, d.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
