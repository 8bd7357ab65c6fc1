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

// The range of the ports of FreePort. The system does not assign these ports on its own. So no other
// program gets a port after FreePort has chosen it and before the service starts.
const (
	firstPort = 16_000
	ports     = 16_000
)

// FreePort returns a TCP port of 127.0.0.1 that nothing uses. All test binaries together go through the
// range in turn, so a port is chosen again only after all other ports.
func FreePort() (string, error) {
	dir, release, err := Keep("ports")
	if err != nil {
		return "", err
	}
	defer release()
	last := filepath.Join(dir, "last")
	text, _ := os.ReadFile(last) //nolint:gosec // in the user's cache
	n, err := strconv.Atoi(string(text))
	if err != nil { // this user has not chosen a port before
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

// Port is like FreePort. It fails the test on an error.
func Port(t testing.TB) string {
	t.Helper()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
