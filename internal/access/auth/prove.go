package auth

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/internal/base/fault"
)

// Prove reports whether a password is that of a member who has authenticated and
// asks for its change. Wrong ones are throttled by member alone, wherever they come
// from: someone with a stolen token must not guess the password. A right one
// resets the count, but trusts nobody.
// Errors: *SlowDownError when too many wait; fault.Transient when ctx ends.
func (s *Service) Prove(ctx context.Context, member int64, password string) (bool, error) {
	if len(password) > maxPassword {
		return false, nil
	}
	account := s.keyed("member", strconv.FormatInt(member, 10))
	a, err := s.proofThrottle.attempt(account, account)
	if err != nil {
		return false, err
	}
	right, err := s.proveInTurn(ctx, member, password, account, a)
	switch {
	case err != nil:
		s.proofThrottle.uncount(account)
	case right:
		s.proofThrottle.forget(account)
	}
	return right, err
}

func (s *Service) proveInTurn(ctx context.Context, member int64, password string, account key, a attempt) (bool, error) {
	if err := s.proofThrottle.wait(ctx, a.delay); err != nil {
		return false, err
	}
	w := &waiter{queue: memberQueue, rank: a.before, account: account}
	if err := s.slots.acquire(ctx, w); err != nil {
		return false, err
	}
	defer s.slots.release(w)
	hash, err := readHash(s.db.Gorm(ctx), member)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil && matches(hash, password), err
}
