package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// store is the database of the run.
type store struct {
	admin *db.DB
	db    *db.DB
	name  string
	url   string
	redis string
	keep  bool
	pool  int64 // size of the buffer pool before it was changed, 0 when it was not
}

// openStore makes the database, or takes up one that an earlier run kept.
func openStore(ctx context.Context, o options, out io.Writer) (*store, error) {
	s := &store{name: fmt.Sprintf("alds_bench_read_%d_%d", o.assets, o.versions), redis: o.redis, keep: o.keep}
	if !o.keep {
		s.name += fmt.Sprintf("_%d", os.Getpid())
	}
	s.url = o.mysql + "/" + s.name
	var err error
	if s.admin, err = db.Open(ctx, o.mysql+"/information_schema", db.Options{MaxConns: 2}); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, o, out); err != nil {
		return nil, errors.Join(err, s.close(out))
	}
	return s, nil
}

func (s *store) prepare(ctx context.Context, o options, out io.Writer) error {
	if err := s.tune(ctx, o.pool, out); err != nil {
		return err
	}
	_, err := s.admin.Exec(ctx, "CREATE DATABASE IF NOT EXISTS `"+s.name+"` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
	if err != nil {
		return err
	}
	if err := app.Migrate(ctx, s.getenv(""), io.Discard, app.API); err != nil {
		return err
	}
	s.db, err = db.Open(ctx, s.url, db.Options{MaxConns: 16})
	return err
}

// getenv gives the settings of the service.
func (s *store) getenv(addr string) func(string) string {
	settings := map[string]string{
		"DATABASE_URL": s.url, "REDIS_URL": s.redis, "ALDS_ADDR": addr,
		"ALDS_SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	}
	return func(name string) string { return settings[name] }
}

// tune reports the server's memory, and changes it for the run when asked to.
func (s *store) tune(ctx context.Context, megabytes int64, out io.Writer) error {
	var version string
	var size int64
	err := s.admin.QueryRow(ctx, "SELECT VERSION(), @@innodb_buffer_pool_size").Scan(&version, &size)
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
	_, err := s.admin.Exec(ctx, fmt.Sprintf("SET GLOBAL innodb_buffer_pool_size = %d", size))
	return err
}

// filled reports whether an earlier run has filled the database.
func (s *store) filled(ctx context.Context) (bool, error) {
	var id int64
	err := s.db.QueryRow(ctx, "SELECT id FROM audit WHERE id = ?", filledAudit).Scan(&id)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// close drops the database unless it is to be kept, and gives the server its
// memory back.
func (s *store) close(out io.Writer) error {
	ctx := context.Background()
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if !s.keep {
		_, err := s.admin.Exec(ctx, "DROP DATABASE IF EXISTS `"+s.name+"`")
		errs = append(errs, err)
	}
	if s.pool != 0 {
		errs = append(errs, s.resize(ctx, s.pool))
		fmt.Fprintf(out, "innodb_buffer_pool_size set back to %d MB\n", s.pool>>20)
	}
	return errors.Join(append(errs, s.admin.Close())...)
}
