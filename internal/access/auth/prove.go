package auth

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/internal/base/fault"
)

// Prove reports whether a password is the password of a member. It is for a member who has
// logged in and wants to change the password. Wrong passwords are counted per member, from all
// networks together, because a thief of a token must not be able to guess the password. The correct
// password resets the count, but it makes no network trusted.
// Errors: *SlowDownError if too many logins wait, or if the delay is too long; fault.Transient
// if ctx ends.
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

func (s *Service) proveInTurn(
	ctx context.Context, member int64, password string, account key, a attempt,
) (bool, error) {
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
