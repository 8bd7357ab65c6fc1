package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// errTaken reports that another process has locked the folder.
var errTaken = errors.New("another process has locked the folder")

// takeFolder creates the data folder of a standalone and locks it while the process runs: two
// processes must not use the same SQLite file. Before it creates anything, it refuses a first
// start with the default password if other machines could reach the service.
func (s *service) takeFolder() error {
	if !s.role.standalone {
		return nil
	}
	if exposed := exposedOf(s.cfg.Addr, s.cfg.AdminAddr); len(exposed) > 0 && s.cfg.HasDefaultPassword() && s.hasNoFile() {
		return fmt.Errorf("refusing to listen on %s with the password %q of %s: set ALDS_ADMIN_PASSWORD to another one, or listen on 127.0.0.1 only; nothing was created",
			strings.Join(exposed, ", "), defaultPassword, adminUsername)
	}
	if err := os.MkdirAll(s.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make the data folder (ALDS_DATA_DIR): %w", err)
	}
	folder, err := os.Open(s.cfg.DataDir)
	if err != nil {
		return fmt.Errorf("open the data folder (ALDS_DATA_DIR): %w", err)
	}
	s.closers = append(s.closers, folder.Close)
	if errors.Is(lock(folder), errTaken) { // on a file system without locks the start goes on
		return fmt.Errorf("another standalone runs in the folder %s: stop it, or choose another folder by ALDS_DATA_DIR and another port by PORT", s.cfg.DataDir)
	}
	return nil
}

// hasNoFile reports whether the database is a file that does not exist yet.
func (s *service) hasNoFile() bool {
	path, ok := strings.CutPrefix(s.cfg.Database, "sqlite:")
	if !ok {
		return false
	}
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}

// exposedOf returns the addresses that other machines can reach. It leaves out empty addresses,
// on which the process does not listen.
func exposedOf(addrs ...string) (exposed []string) {
	for _, addr := range addrs {
		if addr == "" {
			continue
		}
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err == nil && !a.IP.IsLoopback() {
			exposed = append(exposed, addr)
		}
	}
	return exposed
}
