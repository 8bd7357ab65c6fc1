package testdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// Galera starts a Galera cluster of MariaDB nodes. All nodes accept writes. If its programs are missing,
// the test is skipped, or fails with REQUIRE_SERVICES=1.
func Galera(t testing.TB) *Cluster {
	t.Helper()
	provider := there(t, "Galera", "/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so")
	for _, name := range []string{"mariadbd", "mariadb-install-db", "rsync"} {
		if _, err := lookUp(name); err != nil {
			missing(t, name, err)
		}
	}
	fresh, err := install(program(t, "mariadb-install-db", "mariadb-server"), fmt.Sprintf("--user=%d", os.Getuid()))
	if err != nil {
		t.Fatalf("install a MariaDB: %v", err)
	}
	c := &Cluster{t: t, position: galeraPosition, writes: galeraWrites}
	group, dirs := nodePorts(t), make([]string, clusterNodes) // ports for connections between nodes, and folders
	for i, port := range nodePorts(t) {
		dirs[i] = scratch(t)
		c.Nodes = append(c.Nodes, &Own{
			URL: "mysql://root@127.0.0.1:" + port, t: t, name: fmt.Sprintf("node %d", i+1), log: filepath.Join(dirs[i], "log"),
			args: galeraOptions(t, dirs[i], port, provider, group, i),
		})
		c.Nodes[i].ready = c.Nodes[i].isSynced
	}
	c.found(fresh, dirs)
	return c
}

// found starts all nodes for the first time. It starts the first node alone, stops it and copies its data
// to the other nodes. So these nodes need no data from the first when they join.
func (c *Cluster) found(fresh string, dirs []string) {
	c.t.Helper()
	first, data := c.Nodes[0], filepath.Join(dirs[0], "data")
	c.give(first, dirs[0], fresh)
	first.further = func() []string { return []string{"--wsrep-new-cluster"} }
	first.Start()
	first.Stop()
	_ = os.Remove(filepath.Join(data, "galera.cache")) // this file is large, and other nodes do not need it
	for i, o := range c.Nodes[1:] {
		c.give(o, dirs[i+1], data)
	}
	first.Start()
	for _, o := range c.Nodes[1:] {
		o.launch()
	}
	for _, o := range c.Nodes {
		o.await()
		o.further = o.recovered
	}
}

// give copies data into the folder dir of a node. The parameter from is the folder with the data.
func (c *Cluster) give(o *Own, dir, from string) {
	c.t.Helper()
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(from)); err != nil {
		c.t.Fatal(err)
	}
	o.attr = serviceUser(c.t, dir)
	o.endWithTest()
}

// serviceUser returns the attributes with which root runs a node as the user of the distribution's database
// service. It also makes that user the owner of the folder. Otherwise the program that copies data to a
// node would run as the user nobody.
func serviceUser(t testing.TB, dir string) *syscall.SysProcAttr {
	t.Helper()
	attr := WithParent()
	if os.Getuid() != 0 {
		return attr
	}
	who, err := user.Lookup("mysql")
	if err != nil {
		missing(t, "the user mysql", err)
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	err = filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(file, uid, gid))
	})
	if err != nil {
		t.Fatal(err)
	}
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} //nolint:gosec // ids are small
	return attr
}

func galeraOptions(t testing.TB, dir, port, provider string, group []string, i int) []string {
	t.Helper()
	return []string{
		program(t, "mariadbd", "mariadb-server"), "--no-defaults", "--datadir=" + filepath.Join(dir, "data"), redoLog,
		"--bind-address=127.0.0.1", "--port=" + port,
		"--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"), "--tmpdir=" + dir,
		// If a node loses commits, the other nodes still have them.
		"--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=128M", "--performance-schema=OFF",
		"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--default-storage-engine=InnoDB",
		"--wsrep-on=ON", "--wsrep-provider=" + provider, "--wsrep-cluster-name=alds", fmt.Sprintf("--wsrep-node-name=node%d", i+1),
		"--wsrep-cluster-address=gcomm://127.0.0.1:" + strings.Join(group, ",127.0.0.1:"),
		"--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=127.0.0.1:" + nodePort(t),
		"--wsrep-slave-threads=2",
		"--wsrep-provider-options=gcache.size=64M;gmcast.listen_addr=tcp://127.0.0.1:" + group[i] + ";ist.recv_addr=127.0.0.1:" + nodePort(t),
	}
}

// isSynced returns nil if a node accepts statements and has all data of the cluster.
func (o *Own) isSynced() error {
	return o.ask(func(ctx context.Context, d *db.DB) error {
		state, err := status(ctx, d, "wsrep_local_state_comment")
		if err == nil && state != "Synced" {
			err = errors.New("its state is " + state)
		}
		return err
	})
}

var position = regexp.MustCompile(`Recovered position: *([0-9a-f-]+:-?[0-9]+)`)

// recovered finds out up to which transaction a killed node has data, as the distribution's service does
// before a start. It returns the option for the start. The node then gets only the missing data from the
// other nodes.
func (o *Own) recovered() []string {
	o.t.Helper()
	args := append([]string{}, o.args[1:]...)
	cmd := exec.Command(o.args[0], append(args, "--wsrep-recover", "--log-error="+o.log+".recovery")...) //nolint:gosec // a server of the test
	cmd.SysProcAttr = o.attr
	_ = os.Remove(o.log + ".recovery") // remove the log of an earlier call
	out, err := cmd.CombinedOutput()
	text, unread := os.ReadFile(o.log + ".recovery")
	found := position.FindAllStringSubmatch(string(text), -1)
	if err = errors.Join(err, unread); err != nil || len(found) == 0 {
		o.t.Fatalf("the position of %s is not found: %v\n%s\n%s", o.name, err, out, text)
	}
	return []string{"--wsrep-start-position=" + found[len(found)-1][1]}
}

func galeraPosition(ctx context.Context, d *db.DB) (string, error) {
	return status(ctx, d, "wsrep_last_committed")
}

func galeraWrites(ctx context.Context, d *db.DB) (bool, error) {
	ready, err := status(ctx, d, "wsrep_ready")
	return ready == "ON", err
}

// status returns the value of a status variable of a server.
func status(ctx context.Context, d *db.DB, name string) (value string, err error) {
	err = d.QueryRow(ctx, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = ?", name).Scan(&value)
	return value, err
}
