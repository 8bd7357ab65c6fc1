package requests

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

const (
	leaseTime  = 6 * time.Second // of a claim, unless it is renewed
	renewEvery = 2 * time.Second
	maxClaims  = 5               // claims without an answer before a request is refused
	backoff    = 5 * time.Second // before the next claim of a request for which the database was not available
	candidates = 8               // rows read for one claim: other workers claim too
)

// ErrLeaseLost says that another worker has claimed the request meanwhile.
var ErrLeaseLost = errors.New("the lease of the request is lost")

// Accept stores a request for asynchronous execution. Where the key is in use it
// returns the request that has it.
// Errors: fault.Conflict as Begin; fault.Invalid when the request is too large
// to be stored.
func (s *Store) Accept(ctx context.Context, member int64, identity Identity, request []byte, commands int) (State, error) {
	if identity.Key != "" {
		release, err := s.reserve(memberKey{member, identity.Key})
		if err != nil {
			return State{}, err
		}
		defer release()
	}
	stored, err := compress(request)
	if err != nil {
		return State{}, err
	}
	id := uuid.NewString()
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		return s.insert(ctx, tx, row{id: id, member: member, identity: identity, status: waiting, request: stored, commands: commands})
	})
	if errors.Is(err, db.ErrUnknownOutcome) {
		if found, findErr := s.Find(ctx, id); findErr == nil {
			return found, nil
		}
	}
	if fault.KindOf(err) == fault.Conflict {
		return s.findByKey(ctx, member, identity)
	}
	if err != nil {
		return State{}, err
	}
	return s.Find(ctx, id)
}

// Claim is the right to execute one accepted request.
type Claim struct {
	ID      string
	Member  int64
	Created time.Time
	Request []byte

	store *Store
	owner string // of this claim only: the fence
}

// Claim claims the request that has waited longest; nil when none waits. One that
// was claimed too often without an answer is refused.
func (s *Store) Claim(ctx context.Context) (*Claim, error) {
	for {
		ids, err := s.waiting(ctx)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		for _, id := range ids {
			c, err := s.ClaimByID(ctx, id)
			if err != nil || c != nil {
				return c, err
			}
		}
	}
}

func (s *Store) waiting(ctx context.Context) ([]string, error) {
	return db.Column[string](ctx, s.db, `SELECT id FROM bulk_request WHERE status = 0 AND lease <= `+s.db.Dialect.NowMicros+
		` ORDER BY created_at, id LIMIT ?`, candidates)
}

// ClaimByID claims one request; nil when another worker was faster, or the request
// was refused.
func (s *Store) ClaimByID(ctx context.Context, id string) (*Claim, error) {
	c := &Claim{ID: id, store: s, owner: uuid.NewString()}
	now := s.db.Dialect.NowMicros
	res, err := s.db.Exec(ctx, `UPDATE bulk_request SET owner = ?, lease = `+now+` + ?, claims = claims + 1
		WHERE id = ? AND status = 0 AND lease <= `+now, c.owner, leaseTime.Microseconds(), id)
	if err != nil {
		return nil, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return nil, err
	}
	var created int64
	var claims int
	err = s.db.QueryRow(ctx, `SELECT actor_id, created_at, claims, request FROM bulk_request WHERE id = ? AND owner = ? AND status = 0`, id, c.owner).
		Scan(&c.Member, &created, &claims, &c.Request)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case claims > maxClaims:
		return nil, c.Refuse(ctx, tooManyClaims())
	}
	c.Created = time.UnixMicro(created)
	if c.Request, err = decompress(c.Request); err != nil {
		return nil, c.Refuse(ctx, err)
	}
	return c, nil
}

func tooManyClaims() error {
	return fault.Invalidf(fault.NoPlace, "The request was begun %d times and never ended; send it in smaller parts.", maxClaims)
}

// Hold renews the lease until stop is called. The context that it returns ends
// with ErrLeaseLost as its cause when the lease is lost.
func (c *Claim) Hold(ctx context.Context) (held context.Context, stop func()) {
	held, lost := context.WithCancelCause(ctx)
	renewing, end := context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-renewing.Done():
				return
			case <-tick.C:
			}
			if errors.Is(c.renew(renewing), ErrLeaseLost) {
				lost(ErrLeaseLost)
				return
			}
		}
	}()
	return held, func() { end(); lost(nil) }
}

func (c *Claim) renew(ctx context.Context) error {
	now := c.store.db.Dialect.NowMicros
	return c.fenced(c.store.db.Exec(ctx, `UPDATE bulk_request SET lease = `+now+` + ? WHERE id = ? AND owner = ? AND status = 0`,
		leaseTime.Microseconds(), c.ID, c.owner))
}

// finish stores the outcome of the request. Errors: ErrLeaseLost.
func (c *Claim) finish(ctx context.Context, tx *db.Tx, status int, answer []byte) error {
	stored, err := compress(answer)
	if err != nil {
		return err
	}
	return c.fenced(tx.Exec(ctx, `UPDATE bulk_request SET status = ?, answer = ?, request = NULL, expires_at = ?
		WHERE id = ? AND owner = ? AND status = 0`, status, stored, time.Now().Add(c.store.Retention).UnixMicro(), c.ID, c.owner))
}

// Complete stores the answer of a request that wrote nothing. Errors: ErrLeaseLost.
func (c *Claim) Complete(ctx context.Context, answer []byte) error {
	return c.store.db.Write(ctx, func(tx *db.Tx) error { return c.finish(ctx, tx, answered, answer) })
}

// Refuse stores the error of a request that was refused as a whole. Errors: ErrLeaseLost.
func (c *Claim) Refuse(ctx context.Context, why error) error {
	return c.store.db.Write(ctx, func(tx *db.Tx) error { return c.finish(ctx, tx, refused, encodeFault(why)) })
}

// Release ends the lease and does not count the claim; for a process that stops.
func (c *Claim) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewEvery)
	defer cancel()
	return c.fenced(c.store.db.Exec(ctx, `UPDATE bulk_request SET lease = 0, owner = NULL, claims = claims - 1
		WHERE id = ? AND owner = ? AND status = 0`, c.ID, c.owner))
}

// Retry ends the lease, and allows the next claim after a backoff.
func (c *Claim) Retry(ctx context.Context) error {
	return c.fenced(c.store.db.Exec(ctx, `UPDATE bulk_request SET lease = `+c.store.db.Dialect.NowMicros+` + ?, owner = NULL
		WHERE id = ? AND owner = ? AND status = 0`, backoff.Microseconds(), c.ID, c.owner))
}

// fenced returns ErrLeaseLost for a statement that matched no row.
func (c *Claim) fenced(res db.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return ErrLeaseLost
	}
	return err
}
