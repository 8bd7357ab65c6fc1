package requests

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm/clause"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

const (
	backoff    = 5 * time.Second  // wait before the next claim after Retry, for example if the database was unavailable
	pause      = 30 * time.Second // see lease.Table.Pause
	candidates = 8                // rows that Claim reads at once, because other workers may claim the first of them
)

// Accept stores a request for asynchronous execution. If a stored request already has the key,
// Accept returns that request. commands is the number of commands in the request.
// Errors: fault.Conflict for the same reasons as Begin; fault.Invalid if the request is too large
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
	row := requestRow{ID: uuid.NewString(), Status: waiting, Request: stored, Commands: commands}
	err = s.db.Write(ctx, func(tx *db.Tx) error { return s.insert(tx, member, identity, &row) })
	if errors.Is(err, db.ErrUnknownOutcome) {
		if _, findErr := s.Find(ctx, row.ID); findErr == nil {
			err = nil
		}
	}
	if fault.KindOf(err) == fault.Conflict {
		return s.findByKey(ctx, member, identity)
	}
	if err != nil {
		return State{}, err
	}
	// A worker may already have executed the request. The returned state is the state at the
	// acceptance.
	return State{ID: row.ID, Member: member, Created: time.UnixMicro(row.CreatedAt), Commands: commands}, nil
}

// Claim is the right to execute one accepted request.
type Claim struct {
	ID      string
	Member  int64
	Created time.Time
	Again   bool // true if an earlier claim of the request ended without an answer

	store             *Store
	owner             string // unique for this claim; writes fail if the row has another owner
	request, progress []byte // as compress returns them
}

// Request returns the accepted request. If the request is stored compressed, its uncompressed size
// is added to the memory reservation of ctx.
// Errors: those of memory.Hold.
func (c *Claim) Request(ctx context.Context) ([]byte, error) { return decompress(ctx, c.request) }

// Progress returns what the step before has stored with Continue. It is empty before the first step.
// Errors: those of Request.
func (c *Claim) Progress(ctx context.Context) ([]byte, error) { return decompress(ctx, c.progress) }

// Claim claims a waiting request. It returns nil if no request waits. Members take turns, and the
// oldest request of a member comes first. If a request was claimed too often without an answer,
// Claim refuses the request.
func (s *Store) Claim(ctx context.Context) (*Claim, error) {
	for {
		var ids []string
		err := s.db.Gorm(ctx).Model(&requestRow{}).Where("status = ? AND "+s.leases.Free(), waiting).
			Order(clause.OrderBy{Expression: clause.Expr{SQL: "CASE WHEN actor_id > ? THEN 0 ELSE 1 END, actor_id, created_at, id", Vars: []any{s.last.Load()}}}).
			Limit(candidates).Pluck("id", &ids).Error
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		for _, id := range ids {
			c, err := s.ClaimByID(ctx, id)
			if c != nil {
				s.last.Store(c.Member)
			}
			if err != nil || c != nil {
				return c, err
			}
		}
	}
}

// ClaimByID claims one request. It returns nil if another worker has the request, or if the
// request was refused.
func (s *Store) ClaimByID(ctx context.Context, id string) (*Claim, error) {
	c := &Claim{ID: id, store: s, owner: uuid.NewString()}
	held, err := s.leases.Claim(ctx, s.db, c.owner, []string{id})
	if err != nil || len(held) == 0 {
		return nil, err
	}
	var row requestRow
	err = s.db.Gorm(ctx).Where("owner = ? AND status = ?", c.owner, waiting).Take(&row, "id = ?", id).Error
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	c.request, c.progress = row.Request, row.Progress
	if row.Claims > lease.MaxClaims {
		return nil, c.Refuse(ctx, tooManyClaims())
	}
	c.Member, c.Created, c.Again = row.ActorID, time.UnixMicro(row.CreatedAt), row.Claims > 1
	return c, nil
}

func tooManyClaims() error {
	return fault.Invalidf(fault.NoPlace, "The request was begun %d times and never ended; send it in smaller parts.", lease.MaxClaims)
}

// Hold renews the lease until stop is called. If the lease is lost, the returned context ends
// with lease.ErrLost as its cause.
func (c *Claim) Hold(ctx context.Context) (held context.Context, stop func()) {
	held, lost := context.WithCancelCause(ctx)
	end := c.store.leases.AutoRenew(ctx, c.owner, []string{c.ID}, func(err error) {
		if errors.Is(err, lease.ErrLost) {
			lost(err)
		}
	})
	return held, func() { end(); lost(nil) }
}

// finish stores the outcome of the request and deletes its body. status is answered or refused.
// Errors: lease.ErrLost.
func (c *Claim) finish(ctx context.Context, tx *db.Tx, status int, answer []byte) error {
	stored, err := compress(answer)
	if err != nil {
		return err
	}
	return c.store.leases.Update(ctx, tx, c.owner, []string{c.ID}, "status = ?, answer = ?, request = NULL, progress = NULL, expires_at = ?",
		status, stored, time.Now().Add(c.store.Retention).UnixMicro())
}

// Continue ends a step of a request that is executed in several steps, each in its own transaction and
// with its own claim. It stores progress for the next step, and how many of the commands are executed.
// It must be the last statement of the transaction.
// Errors: lease.ErrLost; fault.Invalid if progress is too large.
func (c *Claim) Continue(ctx context.Context, tx *db.Tx, progress []byte, executed, commands int) error {
	stored, err := compress(progress)
	if err != nil {
		return err
	}
	return c.store.leases.Update(ctx, tx, c.owner, []string{c.ID}, "progress = ?, executed = ?, commands = ?, claims = 1",
		stored, executed, commands)
}

// End stores the answer in the transaction of the last step. It must be the last statement of the
// transaction.
// Errors: lease.ErrLost; fault.Invalid if the answer is too large.
func (c *Claim) End(ctx context.Context, tx *db.Tx, answer []byte) error {
	return c.finish(ctx, tx, answered, answer)
}

// Complete stores the answer of a request that wrote nothing.
// Errors: lease.ErrLost.
func (c *Claim) Complete(ctx context.Context, answer []byte) error {
	return c.store.db.Write(ctx, func(tx *db.Tx) error { return c.finish(ctx, tx, answered, answer) })
}

// Refuse stores the error of a request that was refused as a whole. If some of its steps have ended, Refuse
// stores the answer that Store.Stopped returns.
// Errors: lease.ErrLost.
func (c *Claim) Refuse(ctx context.Context, why error) error {
	if len(c.progress) > 0 && c.store.Stopped != nil {
		text, err := decompress(context.WithoutCancel(ctx), c.progress)
		if answer := c.store.Stopped(c.ID, text, why); err == nil && answer != nil {
			return c.Complete(ctx, answer)
		}
	}
	return c.store.db.Write(ctx, func(tx *db.Tx) error { return c.finish(ctx, tx, refused, encodeFault(why)) })
}

// Release ends the lease without counting the claim. A process calls Release when it stops.
func (c *Claim) Release(ctx context.Context) error {
	return c.store.leases.Release(ctx, c.owner, []string{c.ID})
}

// Retry ends the lease, and allows the next claim after backoff.
func (c *Claim) Retry(ctx context.Context) error {
	return c.store.leases.Retry(ctx, c.owner, []string{c.ID}, backoff)
}
