package testdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// Group starts a cluster of MySQL nodes with group replication. If multi is true, all nodes accept writes.
// Otherwise only one node does, and another node takes over if it fails. The nodes run in the folder that
// .ci/mysql unpacks, and only root can start them there. If that is not possible, the test is skipped, or
// fails with REQUIRE_SERVICES=1.
func Group(t testing.TB, multi bool) *Cluster {
	t.Helper()
	if os.Getuid() != 0 {
		missing(t, "group replication", errors.New("only root may start it in a folder of its own"))
	}
	out, err := exec.Command(filepath.Join(Root(t), ".ci", "mysql"), "tree", "mysql").Output()
	if err != nil {
		missing(t, "the MySQL of Debian unstable", err)
	}
	tree := strings.TrimSpace(string(out))
	there(t, "the plugin of group replication", filepath.Join(tree, "usr/lib/mysql/plugin/group_replication.so"))
	c := &Cluster{t: t, position: groupPosition, writes: groupWrites}
	group := nodePorts(t) // ports for connections between nodes
	for i, port := range nodePorts(t) {
		dir, err := os.MkdirTemp(filepath.Join(tree, "tmp"), "alds")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		o := &Own{
			URL: "mysql://root@127.0.0.1:" + port, t: t, name: fmt.Sprintf("node %d", i+1), log: filepath.Join(dir, "log"),
			args: groupOptions(strings.TrimPrefix(dir, tree), port, multi, group, i), attr: within(tree),
		}
		bootstraps := i == 0
		o.ready = func() error {
			err := o.joins(bootstraps)
			bootstraps = bootstraps && err != nil // after its first start, this node joins the group like any other node
			return err
		}
		c.Nodes = append(c.Nodes, o)
		o.initialize(dir, c.Nodes[0])
		o.begin()
	}
	return c
}

// within returns the attributes of a process whose root directory is the folder tree.
func within(tree string) *syscall.SysProcAttr {
	attr := WithParent()
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Chroot = tree
	return attr
}

func groupOptions(dir, port string, multi bool, group []string, i int) []string {
	single := map[bool]string{true: "OFF", false: "ON"}[multi]
	everywhere := map[bool]string{true: "ON", false: "OFF"}[multi]
	return []string{
		"/usr/sbin/mysqld", "--no-defaults", "--user=root", "--datadir=" + dir + "/data", "--tmpdir=" + dir,
		"--bind-address=127.0.0.1", "--port=" + port, "--socket=" + dir + "/socket", "--pid-file=" + dir + "/pid",
		"--mysqlx=0", "--secure-file-priv=NULL",
		// If a node loses commits, the other nodes still have them.
		"--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0", "--innodb-buffer-pool-size=128M", "--innodb-redo-log-capacity=64M",
		// Otherwise a node that has not joined yet would accept writes that the other nodes never get.
		"--super-read-only=ON",
		fmt.Sprintf("--server-id=%d", i+1), "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog",
		"--report-host=127.0.0.1", "--report-port=" + port,
		"--plugin-load-add=group_replication.so",
		"--loose-group-replication-group-name=5a1e0000-0000-11f0-8000-000000000000", "--loose-group-replication-start-on-boot=OFF",
		"--loose-group-replication-local-address=127.0.0.1:" + group[i],
		"--loose-group-replication-group-seeds=127.0.0.1:" + strings.Join(group, ",127.0.0.1:"),
		"--loose-group-replication-ip-allowlist=127.0.0.1/8", "--loose-group-replication-recovery-get-public-key=ON",
		"--loose-group-replication-single-primary-mode=" + single,
		"--loose-group-replication-enforce-update-everywhere-checks=" + everywhere,
	}
}

// initialize creates the data of a node. The other nodes get a copy of the first node's data as it was
// before its first start.
func (o *Own) initialize(dir string, first *Own) {
	o.t.Helper()
	data := filepath.Join(dir, "data")
	if o != first {
		err := os.CopyFS(data, os.DirFS(filepath.Join(filepath.Dir(first.log), "fresh")))
		if err != nil {
			o.t.Fatal(err)
		}
		return
	}
	const users = "CREATE USER 'root'@'%';\nGRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;\n"
	err := os.WriteFile(filepath.Join(dir, "users.sql"), []byte(users), 0o600)
	inside := strings.TrimPrefix(dir, o.attr.Chroot)
	cmd := exec.Command(o.args[0], "--no-defaults", "--user=root", "--datadir="+inside+"/data", "--tmpdir="+inside, //nolint:gosec // a server of the test
		"--secure-file-priv=NULL", "--init-file="+inside+"/users.sql", "--initialize-insecure")
	cmd.SysProcAttr, cmd.Dir = o.attr, "/"
	out, failed := cmd.CombinedOutput()
	if err = errors.Join(err, failed); err == nil {
		// This file has the id of the server, which must differ between nodes.
		_ = os.Remove(filepath.Join(data, "auto.cnf"))
		err = os.CopyFS(filepath.Join(dir, "fresh"), os.DirFS(data))
	}
	if err != nil {
		o.t.Fatalf("install a MySQL: %v\n%s", err, out)
	}
}

// joins returns nil if a node is in the group. Otherwise it makes the node join, and returns an error until
// the node has joined.
func (o *Own) joins(bootstraps bool) error {
	var state string
	err := o.ask(func(ctx context.Context, d *db.DB) error {
		return d.QueryRow(ctx, "SELECT COALESCE(MAX(member_state), 'OFFLINE') FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid").Scan(&state)
	})
	switch {
	case err != nil:
		return err
	case state == "ONLINE":
		return nil
	case state == "OFFLINE" && bootstraps:
		err = o.execute("SET GLOBAL group_replication_bootstrap_group = ON", "START GROUP_REPLICATION", "SET GLOBAL group_replication_bootstrap_group = OFF")
	case state == "OFFLINE":
		err = o.execute("CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'", "START GROUP_REPLICATION")
	case state == "ERROR": // the other nodes have not removed the killed node yet
		err = o.execute("STOP GROUP_REPLICATION")
	}
	return errors.Join(errors.New("its state is "+state), err)
}

func groupPosition(ctx context.Context, d *db.DB) (at string, err error) {
	err = d.QueryRow(ctx, "SELECT @@GLOBAL.gtid_executed").Scan(&at)
	return at, err
}

func groupWrites(ctx context.Context, d *db.DB) (ok bool, err error) {
	err = d.QueryRow(ctx, `SELECT COUNT(*) = 1 FROM performance_schema.replication_group_members
		WHERE member_id = @@server_uuid AND member_state = 'ONLINE' AND @@GLOBAL.super_read_only = 0`).Scan(&ok)
	return ok, err
}
