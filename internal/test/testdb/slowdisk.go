package testdb

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed testdata/slowdisk.c
var slowDisk []byte

// Disk is the disk with the data of a test server. A test can make it slow.
type Disk struct {
	t    testing.TB
	file string // the first four bytes are the delay of each call in microseconds
}

// OwnMySQLOnDisk is like OwnMySQL, for a server whose disk a test can make slow. It needs a C compiler.
func OwnMySQLOnDisk(t testing.TB) (*Own, *Disk) {
	t.Helper()
	o := ownMySQL(t, "MariaDB")
	dir := filepath.Dir(o.log)
	source, library := filepath.Join(dir, "slowdisk.c"), filepath.Join(dir, "slowdisk.so")
	if err := os.WriteFile(source, slowDisk, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil { //nolint:gosec // our own source
		t.Fatalf("compile the slow disk: %v\n%s", err, out)
	}
	d := &Disk{t, filepath.Join(dir, "delay")}
	d.Delay(0)
	o.env = append(os.Environ(), "LD_PRELOAD="+library, "SLOW_DISK="+d.file)
	o.With("--innodb-use-native-aio=0") // native calls would bypass the library
	o.begin()
	return o, d
}

// Delay makes each later call of the server to its disk take longer. by is the additional time.
func (d *Disk) Delay(by time.Duration) {
	d.t.Helper()
	f, err := os.OpenFile(d.file, os.O_CREATE|os.O_WRONLY, 0o600) // in place, because the server has mapped this file
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint32(nil, uint32(by.Microseconds())), 0); err != nil { //nolint:gosec // a delay is short
		d.t.Fatal(err)
	}
}
