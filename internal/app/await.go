package app

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// The backoff between two attempts to open the database. It doubles up to maxBackoff.
const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 10 * time.Second
	jitter       = 0.2              // a backoff is longer or shorter by up to this share
	answerLimit  = 10 * time.Second // time limit of one attempt
)

// awaitDatabase retries until the database is ready or ctx ends.
// Errors: errors that a retry cannot fix, such as wrong credentials, an unknown database, an old
// schema or the wrong secret key.
func (s *service) awaitDatabase(ctx context.Context) error {
	if err := s.openBox(); err != nil {
		return err
	}
	return s.repeat(ctx, s.openDatabase)
}

// retry calls ask until the database answers or ctx ends. Each call has the time limit
// answerLimit.
func (s *service) retry(ctx context.Context, ask func(context.Context) error) error {
	return s.repeat(ctx, func(ctx context.Context) error {
		within, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		return ask(within)
	})
}

// repeat calls do until the result is nil or an error other than fault.Transient, or until ctx
// ends. Between two calls it waits for a backoff.
func (s *service) repeat(ctx context.Context, do func(context.Context) error) error {
	backoff := firstBackoff
	for tries := 1; ; tries++ {
		err := do(ctx)
		if err == nil && tries > 1 {
			s.Log.Info("the database answers", "attempts", tries)
		}
		if ctx.Err() != nil || fault.KindOf(err) != fault.Transient {
			return err
		}
		s.notReady(err)
		d := withJitter(backoff)
		s.Log.Warn("the database does not answer, trying again", "attempt", tries, "pause_ms", d.Milliseconds(), "err", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(d):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// withJitter changes a backoff at random, so that processes that lost the connection to the same
// database do not reconnect at the same time.
func withJitter(backoff time.Duration) time.Duration {
	return time.Duration(float64(backoff) * (1 + jitter*(2*rand.Float64()-1)))
}

// openDatabase connects to the database and prepares it for the role.
func (s *service) openDatabase(ctx context.Context) error {
	if s.Auth == nil {
		within, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		if err := s.connect(within); err != nil {
			return err
		}
	}
	if s.role.standalone { // a standalone migrates here, which has no time limit
		return s.prepare(ctx)
	}
	within, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return s.prepare(within)
}

// notReady sets the reason why the database is not ready, which /readyz reports.
func (s *service) notReady(why error) { s.admin.NotReady("database", why) }
