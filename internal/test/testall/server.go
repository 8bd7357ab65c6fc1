package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// findServers tries to start a MariaDB for this run, and returns the databases that tests use. address is
// the address of that MariaDB, or "" if tests use the usual server. stop ends the MariaDB. An error says
// why the MariaDB is not used. The other results are then valid, too.
func findServers(e ending, folder string) (all []testdb.Server, address string, stop func(), err error) {
	address, stop, err = ownServer(e, folder)
	all = testdb.Servers(address)
	if address == "" {
		return all, "", stop, err
	}
	i := slices.IndexFunc(all, func(s testdb.Server) bool { return s.IsMySQL })
	if err := all[i].Err; err != nil { // for example, it is too old
		stop()
		return testdb.Servers(""), "", func() {}, err
	}
	all[i].Name += ", which this run has started"
	return all, address, stop, nil
}

// ownServer starts a MariaDB for this run with temporary data, if its programs are installed. This MariaDB
// never waits for a disk, so databases are created ten times as fast as on a usual server. Also, nothing is
// left behind on a server that others share. address is "" if tests must use the usual server. stop ends
// the MariaDB. The first line of an error says what is wrong.
func ownServer(e ending, folder string) (address string, stop func(), err error) {
	stop = func() {}
	daemon, install := program("mariadbd"), program("mariadb-install-db")
	if os.Getenv("ALDS_TEST_MYSQL") != "" || folder == "" || daemon == "" || install == "" {
		return "", stop, nil
	}
	dir := filepath.Join(folder, "mariadb")
	user := fmt.Sprintf("--user=%d", os.Getuid())
	cmd := exec.Command(install, "--no-defaults", user, "--datadir="+dir, "--auth-root-authentication-method=normal", "--skip-test-db", //nolint:gosec // found in the usual places
		"--innodb-log-file-size=64M")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &out, append(os.Environ(), "TMPDIR="+folder)
	cmd.WaitDelay = endsIn // processes that the program has left may keep its output open
	release, err := e.start(cmd)
	if err != nil {
		return "", stop, err
	}
	err = cmd.Wait()
	release()
	if err != nil {
		return "", stop, fmt.Errorf("%s: %w\n%s", install, err, &out)
	}
	port, err := testdb.FreePort()
	if err != nil {
		return "", stop, err
	}
	server := exec.Command(daemon, "--no-defaults", user, "--datadir="+dir, "--bind-address=127.0.0.1", "--port="+port, //nolint:gosec // found in the usual places
		"--socket="+filepath.Join(folder, "mariadb.sock"), "--pid-file="+filepath.Join(folder, "mariadb.pid"), "--tmpdir="+folder,
		"--log-error="+filepath.Join(folder, "mariadb.log"), "--max-connections=1000", "--performance-schema=OFF",
		"--innodb-log-file-size=64M", "--innodb-buffer-pool-size=256M",
		"--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-flush-method=nosync")
	log, err := os.Create(filepath.Join(folder, "mariadb.log")) //nolint:gosec // in a folder of this run
	if err != nil {
		return "", stop, err
	}
	defer log.Close()
	server.Stderr, server.SysProcAttr = log, apart(testdb.WithParent())
	if err := server.Start(); err != nil {
		return "", stop, err
	}
	ended := make(chan struct{})
	go func() {
		_ = server.Wait() // returns an error, because stop kills the server
		close(ended)
	}()
	stop = func() {
		_ = server.Process.Kill() // a clean end is not needed: the data is removed afterwards
		<-ended
	}
	if err := answers("127.0.0.1:"+port, ended, e.asked); err != nil {
		stop()
		text, _ := os.ReadFile(log.Name())
		return "", func() {}, fmt.Errorf("%s %w\n%s", daemon, err, text[max(0, len(text)-2000):])
	}
	return "mysql://root@127.0.0.1:" + port, stop, nil
}

// program returns the path of a program of a server, or "" if it is missing. Debian installs such programs
// outside the PATH of users.
func program(name string) string {
	for _, at := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if found, err := exec.LookPath(at); err == nil {
			return found
		}
	}
	return ""
}

// answers waits until a server accepts connections. It returns an error if that does not happen.
func answers(address string, ended, asked <-chan struct{}) error {
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ended:
			return errors.New("ended at its start")
		case <-asked:
			return errInterrupted
		case <-time.After(20 * time.Millisecond):
		}
	}
	return errors.New("does not answer within a minute")
}
