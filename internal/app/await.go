package app

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// The backoff between two attempts to open the database, and the time limit of an
// attempt.
const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 10 * time.Second
	jitter       = 0.2 // of a backoff, more or less
	answerLimit  = 10 * time.Second
)

// awaitDatabase retries until the database is ready or ctx ends.
// Errors: what a retry does not change, such as wrong credentials, an unknown
// database, an old schema or another key.
func (s *service) awaitDatabase(ctx context.Context) error {
	if err := s.openBox(); err != nil {
		return err
	}
	return s.repeat(ctx, s.openDatabase)
}

// retry asks the database, each time within answerLimit, until it answers or ctx ends.
func (s *service) retry(ctx context.Context, ask func(context.Context) error) error {
	return s.repeat(ctx, func(ctx context.Context) error {
		within, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		return ask(within)
	})
}

// repeat does what needs the database until it does not fail for want of it, or ctx ends.
func (s *service) repeat(ctx context.Context, do func(context.Context) error) error {
	backoff := firstBackoff
	for tries := 1; ; tries++ {
		err := do(ctx)
		if err == nil && tries > 1 {
			s.log.Info("the database answers", "attempts", tries)
		}
		if ctx.Err() != nil || fault.KindOf(err) != fault.Transient {
			return err
		}
		s.notReady(err)
		d := withJitter(backoff)
		s.log.Warn("the database does not answer, trying again", "attempt", tries, "pause_ms", d.Milliseconds(), "err", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(d):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// withJitter varies a backoff at random, so that processes that lost the same
// database do not return at the same time.
func withJitter(backoff time.Duration) time.Duration {
	return time.Duration(float64(backoff) * (1 + jitter*(2*rand.Float64()-1)))
}

// openDatabase connects to the database and prepares it for the role.
func (s *service) openDatabase(ctx context.Context) error {
	if s.auth == nil {
		within, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		if err := s.connect(within); err != nil {
			return err
		}
	}
	if s.role.standalone { // its migration has no time limit
		return s.prepare(ctx)
	}
	within, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return s.prepare(within)
}

// notReady tells why the database is not ready yet.
func (s *service) notReady(why error) { s.admin.NotReady("database", why) }
