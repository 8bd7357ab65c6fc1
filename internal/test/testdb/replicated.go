package testdb

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// Replica is a replica: a MariaDB that applies the commits of another MariaDB, the writer, some seconds
// later.
type Replica struct {
	Writer *Own
	*Own   // the replica
}

// Replicated starts a MariaDB and a replica of it. The replica applies a commit between delay-1 and delay
// seconds after the writer, because the delay counts from the beginning of the second in which the commit
// was made.
func Replicated(t testing.TB, delay int) *Replica {
	t.Helper()
	r := &Replica{Writer: ownMySQL(t, "the writer"), Own: ownMySQL(t, "the replica")}
	r.Writer.With("--server-id=1", "--log-bin=binlog", "--binlog-format=ROW")
	r.With("--server-id=2", "--relay-log=relay", "--read-only=ON")
	r.Writer.begin()
	r.begin()
	u, err := url.Parse(r.Writer.URL)
	if err != nil {
		t.Fatal(err)
	}
	err = r.execute(fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %s, MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1,"+
		" MASTER_USE_GTID = slave_pos, MASTER_DELAY = %d", u.Port(), delay), "START SLAVE")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// CreateDatabase creates an empty database, and waits until the replica has it.
func (r *Replica) CreateDatabase(name string) {
	r.t.Helper()
	if err := r.Writer.execute("CREATE DATABASE `" + name + "` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		r.t.Fatalf("create the database %s: %v", name, err)
	}
	r.CatchUp()
}

// CatchUp waits until the replica has everything that the writer has committed so far.
func (r *Replica) CatchUp() {
	r.t.Helper()
	at := ""
	err := r.Writer.ask(func(ctx context.Context, d *db.DB) error {
		return d.QueryRow(ctx, "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&at)
	})
	if err == nil {
		err = r.ask(func(ctx context.Context, d *db.DB) error {
			var late int
			err := d.QueryRow(ctx, "SELECT MASTER_GTID_WAIT(?, ?)", at, ownStart.Seconds()).Scan(&late)
			if err == nil && late != 0 {
				err = fmt.Errorf("the replica does not reach %s within %s", at, ownStart)
			}
			return err
		})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// Freeze stops the replication until Thaw.
func (r *Replica) Freeze() { r.must("STOP SLAVE") }

// Thaw continues the replication.
func (r *Replica) Thaw() { r.must("START SLAVE") }

func (r *Replica) must(statement string) {
	r.t.Helper()
	if err := r.execute(statement); err != nil {
		r.t.Fatal(err)
	}
}
