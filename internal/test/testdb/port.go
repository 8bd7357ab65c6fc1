package testdb

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// The ports of FreePort. The system does not assign them automatically, so no other program uses one
// between the choice and the start of the service.
const (
	firstPort = 16_000
	ports     = 16_000
)

// FreePort returns an unused TCP port of 127.0.0.1. Test binaries take turns and choose the ports one after
// another, so a port is chosen again only after all the others.
func FreePort() (string, error) {
	dir, release, err := Keep("ports")
	if err != nil {
		return "", err
	}
	defer release()
	last := filepath.Join(dir, "last")
	text, _ := os.ReadFile(last) //nolint:gosec // in the user's cache
	n, err := strconv.Atoi(string(text))
	if err != nil { // the first of this user
		n = rand.N(ports)
	}
	for range ports {
		n = (n + 1) % ports
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(firstPort+n)) //nolint:noctx // it does not wait
		if err != nil {
			continue
		}
		_ = l.Close()
		return strconv.Itoa(firstPort + n), os.WriteFile(last, []byte(strconv.Itoa(n)), 0o600)
	}
	return "", errors.New("no port is free")
}

// Port does the same as FreePort for a test.
func Port(t testing.TB) string {
	t.Helper()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
