package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/base/fault"
)

// store is the database of the run.
type store struct {
	*rig.Database
	pool int64 // size of the buffer pool before it was changed; 0: unchanged
}

// openStore creates the database, or opens one that an earlier run kept.
func openStore(ctx context.Context, o options, out io.Writer) (*store, error) {
	name := fmt.Sprintf("alds_bench_read_%d_%d", o.assets, o.versions)
	if !o.keep {
		name += fmt.Sprintf("_%d", os.Getpid())
	}
	d, err := rig.Open(ctx, o.mysql, o.redis, name, o.keep)
	if err != nil {
		return nil, err
	}
	s := &store{Database: d}
	if err := s.tune(ctx, o.pool, out); err != nil {
		return nil, errors.Join(err, s.close(out))
	}
	return s, nil
}

// tune prints the size of the server's buffer pool, and changes it for the run if megabytes is
// not 0.
func (s *store) tune(ctx context.Context, megabytes int64, out io.Writer) error {
	var version string
	var size int64
	err := s.Admin.QueryRow(ctx, "SELECT VERSION(), @@innodb_buffer_pool_size").Scan(&version, &size)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "server %s, innodb_buffer_pool_size %d MB\n", version, size>>20)
	if megabytes == 0 || megabytes<<20 == size {
		return nil
	}
	if err := s.resize(ctx, megabytes<<20); err != nil {
		return err
	}
	s.pool = size
	fmt.Fprintf(out, "innodb_buffer_pool_size set to %d MB for this run\n", megabytes)
	return nil
}

func (s *store) resize(ctx context.Context, size int64) error {
	_, err := s.Admin.Exec(ctx, fmt.Sprintf("SET GLOBAL innodb_buffer_pool_size = %d", size))
	return err
}

// filled reports whether an earlier run has filled the database.
func (s *store) filled(ctx context.Context) (bool, error) {
	var id int64
	err := s.DB.QueryRow(ctx, "SELECT id FROM audit WHERE id = ?", filledAudit).Scan(&id)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// close restores the size of the buffer pool, and drops the database unless -keep is set.
func (s *store) close(out io.Writer) error {
	var err error
	if s.pool != 0 {
		err = s.resize(context.Background(), s.pool)
		fmt.Fprintf(out, "innodb_buffer_pool_size set back to %d MB\n", s.pool>>20)
	}
	return errors.Join(err, s.Close())
}
