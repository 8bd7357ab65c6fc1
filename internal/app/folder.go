package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// errTaken is the error of a folder that another process has locked.
var errTaken = errors.New("another process has it")

// takeFolder makes the folder of a standalone and keeps others from it as long as the
// process runs: two on one SQLite file would each take it for theirs. Before it makes
// anything it refuses a first start that could be reached from other machines with the
// password that everybody knows.
func (s *service) takeFolder() error {
	if !s.role.standalone {
		return nil
	}
	if exposed := exposedOf(s.cfg.Addr, s.cfg.AdminAddr); len(exposed) > 0 && s.cfg.HasDefaultPassword() && s.hasNoFile() {
		return fmt.Errorf("refusing to listen on %s with the password %q of %s: set ALDS_ADMIN_PASSWORD to another one, or listen on 127.0.0.1 only; nothing was made",
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
	if errors.Is(lock(folder), errTaken) { // a file system without locks lets everybody in
		return fmt.Errorf("another standalone runs in the folder %s: stop it, or choose another folder by ALDS_DATA_DIR and another port by PORT", s.cfg.DataDir)
	}
	return nil
}

// hasNoFile reports whether the database is a file that is not there yet.
func (s *service) hasNoFile() bool {
	path, ok := strings.CutPrefix(s.cfg.Database, "sqlite:")
	if !ok {
		return false
	}
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}

// exposedOf returns the addresses to listen on that other machines can reach; one that is
// empty is not listened on.
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
