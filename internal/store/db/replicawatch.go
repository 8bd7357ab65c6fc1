package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// WatchReplicas checks the replicas every second until ctx ends. A replica is left out while
// it does not answer, lags by more than MaxLag, or has other migrations. It returns nil.
func (d *DB) WatchReplicas(ctx context.Context) error {
	s := d.replicas
	if s == nil {
		<-ctx.Done()
		return nil
	}
	every := time.NewTicker(s.every)
	defer every.Stop()
	begun := s.Begin == nil
	for {
		if !begun {
			err := s.Begin(ctx, d)
			if begun = err == nil; !begun && ctx.Err() == nil {
				s.log.Warn("replicas cannot be used yet", "err", err)
			}
		}
		if begun {
			s.look(ctx, d)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
	}
}

// look checks the writer and then each replica. While the writer does not answer, its last
// known progress is used.
func (s *replicas) look(ctx context.Context, d *DB) {
	within, cancel := context.WithTimeout(ctx, lookLimit)
	now, err := s.sample(within, d.Health())
	cancel()
	if err == nil {
		s.samples = append(s.samples, now)
		for len(s.samples) > 1 && now.at.Sub(s.samples[0].at) > MaxLag {
			s.samples = s.samples[1:]
		}
	}
	var all sync.WaitGroup
	for _, r := range s.all {
		all.Go(func() {
			within, cancel := context.WithTimeout(ctx, lookLimit)
			defer cancel()
			there, err := s.sample(within, r.db)
			if err != nil {
				r.lag.Store(-1)
			}
			switch c := sqlerror.ClassOf(err); {
			case ctx.Err() != nil:
				return
			case err == nil:
				err = r.compare(s.samples, there)
			case c == sqlerror.Ended, c == sqlerror.Lost:
				r.db.server.Cut()
			}
			r.use(s.log, err)
		})
	}
	all.Wait()
}

// sample reads the progress of a server and the sum of the times of its migrations. This sum is
// different in any two databases that are not replicas of each other.
func (s *replicas) sample(ctx context.Context, d *DB) (now sample, err error) {
	now.at = time.Now()
	if err = d.QueryRow(ctx, s.Progress).Scan(&now.progress); err == nil {
		err = d.QueryRow(ctx, "SELECT COALESCE(SUM(applied_at), 0) FROM schema_migration").Scan(&now.schema)
	}
	return now, err
}

// compare computes the lag of a replica: how long ago the writer had the progress that the replica
// has now. It returns an error that says why the replica is not suitable, or nil.
func (r *replica) compare(writer []sample, there sample) error {
	if len(writer) == 0 {
		return errors.New("the progress of the writer is not known yet")
	}
	last := len(writer) - 1
	if there.schema != writer[last].schema {
		return errors.New("the replica has other migrations than the writer")
	}
	for i := last; i >= 0; i-- {
		if writer[i].progress > there.progress {
			continue
		}
		lag := time.Duration(0)
		if i < last {
			lag = there.at.Sub(writer[i].at)
		}
		r.lag.Store(int64(lag))
		return nil
	}
	lag := there.at.Sub(writer[0].at) // more than MaxLag, or the time since the first check
	r.lag.Store(int64(lag))
	return fmt.Errorf("the replica lags by more than %s", lag.Round(time.Millisecond))
}

// What was logged last about a replica.
const (
	toldUsed = iota + 1
	toldOut
)

// use puts a replica into use if out is nil. Otherwise it leaves the replica out, and out is the
// reason. It logs each change.
func (r *replica) use(log *slog.Logger, out error) {
	r.used.Store(out == nil)
	switch {
	case out == nil && r.told != toldUsed:
		r.told = toldUsed
		log.Info("a replica is in use", "replica", r.name)
	case out != nil && r.told != toldOut:
		r.told = toldOut
		log.Warn("a replica is left out", "replica", r.name, "err", out)
	}
}

// refused handles a read that failed on a replica. If the connection was lost or the server cannot
// work now, the replica is left out until the next check.
func (r *replica) refused(log *slog.Logger, err error) {
	if c := sqlerror.ClassOf(err); c == sqlerror.Lost || c == sqlerror.Away {
		r.used.Store(false)
	}
	log.Debug("a read is repeated on the writer", "replica", r.name, "err", err)
}

// pool returns the state of the connections to all replicas.
func (s *replicas) pool() Pool {
	all := Pool{Name: poolReplica}
	for _, r := range s.all {
		for _, pool := range []*sql.DB{r.db.reads.quick, r.db.reads.long} {
			n := pool.Stats()
			all.Used, all.Limit = all.Used+n.InUse, all.Limit+n.MaxOpenConnections
		}
	}
	return all
}

// ReplicaState is the state of a replica.
type ReplicaState struct {
	Name string // host:port
	Used bool
	Lag  time.Duration // upper bound; below 0: unknown
}

// ReplicaCounts counts reads of Elsewhere since d was opened: those on a replica, and those
// on the writer by reason.
type ReplicaCounts struct {
	Replica int64
	Writer  map[string]int64
}

// ReplicaStates returns the state of the replicas, in the order of their addresses, and the
// counts of the reads.
func (d *DB) ReplicaStates() ([]ReplicaState, ReplicaCounts) {
	s := d.replicas
	if s == nil {
		return nil, ReplicaCounts{}
	}
	var all []ReplicaState
	for _, r := range s.all {
		all = append(all, ReplicaState{Name: r.name, Used: r.used.Load(), Lag: time.Duration(r.lag.Load())})
	}
	c := ReplicaCounts{Replica: s.reads.Load(), Writer: map[string]int64{}}
	for why, n := range s.writer {
		c.Writer[why] = n.Load()
	}
	return all, c
}
