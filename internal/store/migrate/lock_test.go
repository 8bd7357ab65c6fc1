package migrate_test

import (
	"context"
	"fmt"
	"io"
	"os"
	process "os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	schema "github.com/alds-dev/alds/sql"
)

// program adds a migration that is a Go program.
func program(d *db.DB, version int, run func(ctx context.Context, r schema.Runner) error) {
	next := (*d.Steps())[0]
	next.Version, next.Name, next.Text, next.Run = version, "program", "", run
	*d.Steps() = append(*d.Steps(), next)
}

// TestMigrateAtOnceRunsEachMigrationOnce checks that three processes migrate one after the other,
// and that the later processes have nothing left to do.
func TestMigrateAtOnceRunsEachMigrationOnce(t *testing.T) {
	all := fresh(t, "mysql", 3)
	var inside, runs atomic.Int32
	for _, d := range all {
		for version := 9000; version < 9003; version++ {
			program(d, version, func(ctx context.Context, r schema.Runner) error {
				if inside.Add(1) != 1 {
					t.Error("two migrate at once")
				}
				defer inside.Add(-1)
				runs.Add(1)
				_, err := r.ExecContext(ctx, "DO SLEEP(0.05)")
				return err
			})
		}
	}
	var wg sync.WaitGroup
	for _, d := range all {
		wg.Go(func() {
			if err := d.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs.Load() != 3 {
		t.Errorf("3 migrations ran %d times", runs.Load())
	}
	wantLease(t, all[0], "", false)
}

// wantLease checks the holder of the lease, by the beginning of its name, and whether the
// lease is valid.
func wantLease(t *testing.T, d *db.DB, holder string, lasts bool) {
	t.Helper()
	var got string
	var until, now int64
	err := d.QueryRow(context.Background(), "SELECT holder, ends_at, "+d.Dialect.NowMicros+" FROM migration_lock").Scan(&got, &until, &now)
	if err != nil || (got != "") != (holder != "") || !strings.HasPrefix(got, holder) || until > now != lasts {
		t.Errorf("the lease is %q's until %d, now %d, %v; want %q, lasting %t", got, until, now, err, holder, lasts)
	}
}

// seize gives the lease to another holder. The parameter lasting is the duration of the lease.
func seize(t *testing.T, d *db.DB, lasting time.Duration) {
	t.Helper()
	if _, err := d.Exec(context.Background(), "UPDATE migration_lock SET holder = 'other', ends_at = "+d.Dialect.NowMicros+" + ?", lasting.Microseconds()); err != nil {
		t.Fatal(err)
	}
}

// TestALostLeaseStops checks a process that has lost the lease. It runs no further statement
// of a program and no further migration, and does not change the lease of the new holder.
func TestALostLeaseStops(t *testing.T) {
	all := migrated(t, "mysql", 2)
	d, other := all[0], all[1]
	d.SetLease(time.Second, time.Minute)
	program(d, 9000, func(ctx context.Context, r schema.Runner) error {
		seize(t, other, time.Hour)
		for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); {
			if _, err := r.ExecContext(ctx, "DO SLEEP(0.01)"); err != nil {
				wantRefusal(t, "a statement", err, "another process migrates this database now")
				return nil
			}
		}
		t.Error("statements go on")
		return nil
	})
	program(d, 9001, func(context.Context, schema.Runner) error { t.Error("the next migration ran"); return nil })
	wantRefusal(t, "a lost lease", d.Migrate(t.Context()), "another process migrates this database now")
	wantLease(t, other, "other", true)
}

// TestALateLeaseIsKept checks a statement that delays all renewals for longer than the lease.
// The migration continues if no other process has taken the lease.
func TestALateLeaseIsKept(t *testing.T) {
	all := migrated(t, "mysql", 2)
	d, other := all[0], all[1]
	d.SetLease(300*time.Millisecond, time.Minute)
	ran := false
	program(d, 9000, func(ctx context.Context, r schema.Runner) error {
		return other.Write(ctx, func(tx *db.Tx) error { // renewals wait for the row
			if _, err := tx.Exec(ctx, "SELECT 1 FROM migration_lock WHERE id = ? FOR UPDATE", 1); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "DO SLEEP(1)")
			return err
		})
	})
	program(d, 9001, func(context.Context, schema.Runner) error { ran = true; return nil })
	if err := d.Migrate(t.Context()); err != nil || !ran {
		t.Errorf("went on: %t, %v", ran, err)
	}
}

// TestMigrateWaitsForALongOne checks that Migrate waits only for a limited time while another
// process migrates. Its error must contain the reason.
func TestMigrateWaitsForALongOne(t *testing.T) {
	d := migrated(t, "mysql", 1)[0]
	seize(t, d, time.Hour)
	d.SetLease(time.Second, 400*time.Millisecond)
	wantRefusal(t, "while another one migrates", d.Migrate(t.Context()), "another process has been migrating this database")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	d.SetLease(time.Second, time.Hour)
	wantRefusal(t, "while another one migrates, told to end", d.Migrate(ctx), "was given up")
	seize(t, d, 600*time.Millisecond)
	if err := d.Migrate(t.Context()); err != nil {
		t.Errorf("after the lease had ended: %v", err)
	}
	wantLease(t, d, "", false)
}

// TestMigrateAgainAfterConflicts checks that Migrate repeats an update of the row of the lease
// after a conflict. Such conflicts happen between nodes of a cluster.
func TestMigrateAgainAfterConflicts(t *testing.T) {
	d := fresh(t, "mysql", 1)[0]
	for _, s := range []string{
		"CREATE TABLE told (times INT) ENGINE=MyISAM", // not transactional, so a rollback does not change the count
		"INSERT INTO told VALUES (3)",
		"CREATE TABLE migration_lock (id INT NOT NULL, holder VARCHAR(200) NOT NULL, ends_at BIGINT NOT NULL, PRIMARY KEY (id))",
		`CREATE TRIGGER tells BEFORE UPDATE ON migration_lock FOR EACH ROW BEGIN
			IF (SELECT times FROM told) > 0 THEN
				UPDATE told SET times = times - 1;
				SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213;
			END IF;
		END`,
	} {
		if _, err := d.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
	var left int
	if err := d.QueryRow(t.Context(), "SELECT times FROM told").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d conflicts are left, %v: nothing was shown", left, err)
	}
}

// migrates is an environment variable with the URL of a database. A test program with this variable
// migrates the database, and never ends its last migration.
const migrates = "ALDS_TEST_MIGRATES"

// migrateForever migrates a database in the process that has the variable migrates. The process
// closes its output when the last migration begins.
func migrateForever(url string) error {
	d, err := db.Open(context.Background(), url, db.Options{MaxConns: 4})
	if err != nil {
		return err
	}
	d.SetLease(killedLease, time.Minute)
	program(d, 9000, func(context.Context, schema.Runner) error {
		_ = os.Stdout.Close()
		select {}
	})
	return d.Migrate(context.Background())
}

// killedLease is the duration of a lease that is renewed every three seconds. So on a slow machine a
// renewal may be twelve seconds late.
const killedLease = 15 * time.Second

// TestAKilledMigration checks what happens after a migrating process was killed. The next process
// waits until the lease of the killed process has ended, and then migrates. With -short the test
// shortens this lease.
func TestAKilledMigration(t *testing.T) {
	url := testdb.URL(t, "mysql")
	cmd := process.Command(os.Args[0])
	cmd.Env, cmd.Stderr, cmd.SysProcAttr = append(os.Environ(), migrates+"="+url), os.Stderr, testdb.WithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(out); err != nil || len(text) > 0 {
		t.Fatalf("%v\n%s", err, text)
	}
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ran := false
	program(d, 9000, func(context.Context, schema.Runner) error { ran = true; return nil })
	first := leaseEnd(t, d)
	for until := time.Now().Add(time.Minute); leaseEnd(t, d) <= first; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the lease is not renewed within a minute")
		}
	}
	wait := killedLease * 3 / 2
	if testing.Short() {
		wait = time.Millisecond
	}
	d.SetLease(killedLease, wait)
	wantRefusal(t, "beside one that works", d.Migrate(t.Context()), "another process has been migrating this database")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wantLease(t, d, fmt.Sprint(hostname(t), ", process ", cmd.Process.Pid), true)
	if testing.Short() {
		exec(t, d, "UPDATE migration_lock SET ends_at = "+d.Dialect.NowMicros+" + ?", (400 * time.Millisecond).Microseconds())
	}
	d.SetLease(killedLease, time.Minute)
	if err := d.Migrate(t.Context()); err != nil || !ran {
		t.Errorf("after it was killed: ran %t, %v", ran, err)
	}
	wantLease(t, d, "", false)
}

// leaseEnd returns when the lease ends, in UTC microseconds.
func leaseEnd(t *testing.T, d *db.DB) (at int64) {
	t.Helper()
	if err := d.QueryRow(t.Context(), "SELECT ends_at FROM migration_lock").Scan(&at); err != nil {
		t.Fatal(err)
	}
	return at
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestLookingAtMigrationsWritesNothing checks that reading the schema state creates neither
// the table nor the row of the lease.
func TestLookingAtMigrationsWritesNothing(t *testing.T) {
	d := fresh(t, "mysql", 1)[0]
	look := func() {
		t.Helper()
		if _, err := d.SchemaState(t.Context()); err != nil {
			t.Error(err)
		}
	}
	look()
	var tables int
	if err := d.QueryRow(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables, %v", tables, err)
	}
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	seize(t, d, time.Hour)
	look() // and does not wait for the lease
	wantLease(t, d, "other", true)
}
