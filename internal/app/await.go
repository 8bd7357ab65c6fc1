package app

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/alds-dev/alds/internal/fault"
)

// The pauses between two tries to reach the database, give or take a fifth, and
// how long it may take to answer one.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 10 * time.Second
	pauseJitter  = 0.2
	answerLimit  = 10 * time.Second
)

// reach waits until the database answers, and makes it ready. It ends with ctx.
// Errors: what waiting does not mend, such as wrong credentials, an unknown
// database, an old schema or another key.
func (s *service) reach(ctx context.Context) error {
	if err := s.openBox(); err != nil {
		return err
	}
	pause := firstPause
	for tries := 1; ; tries++ {
		err := s.tryDatabase(ctx)
		if err == nil && tries > 1 {
			s.log.Info("the database answers", "tries", tries)
		}
		if ctx.Err() != nil || fault.KindOf(err) != fault.Transient {
			return err
		}
		s.note(err)
		d := spread(pause)
		s.log.Warn("the database does not answer, trying again", "try", tries, "pause_ms", d.Milliseconds(), "err", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(d):
		}
		pause = min(2*pause, longestPause)
	}
}

// spread makes a pause longer or shorter by chance, so that processes that lost
// the same database do not come back together.
func spread(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (1 + pauseJitter*(2*rand.Float64()-1)))
}

// tryDatabase does once what the start needs of the database.
func (s *service) tryDatabase(ctx context.Context) error {
	if s.auth == nil {
		within, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		if err := s.connect(within); err != nil {
			return err
		}
	}
	if s.role.standalone { // which migrates, for as long as that takes
		return s.prepare(ctx)
	}
	within, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return s.prepare(within)
}

// note keeps why the database is not ready, for readiness.
func (s *service) note(err error) { s.waiting.Store(&err) }

// reached is the check of readiness while the process waits for the database.
func (s *service) reached(context.Context) error { return *s.waiting.Load() }

// unreached is what Run returns when the start came to nothing: nothing, when it
// was told to stop meanwhile.
func (s *service) unreached(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	s.log.Info("stopped before it had started", "err", err)
	return nil
}
