package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

const (
	lease      = 6 * time.Second // how long a claim holds unless it is renewed
	renewEvery = 2 * time.Second
	maxClaims  = 5               // claims without an end before a request is given up
	pause      = 5 * time.Second // before a request is tried again that the database could not take
	candidates = 8               // looked at for one claim: others are claiming too
)

// ErrLost says that a claim ended before its work did; somebody else has it.
var ErrLost = errors.New("the claim on the request is lost")

// Accept keeps a request to be carried out later. With a key that is known it
// returns the entry that is there.
// Errors: fault.Conflict as Enter; fault.Invalid when the request is too large
// to be kept.
func (b *Book) Accept(ctx context.Context, member int64, once Once, request []byte, commands int) (State, error) {
	if once.Key != "" {
		release, err := b.hold(holder{member, once.Key})
		if err != nil {
			return State{}, err
		}
		defer release()
	}
	packed, err := pack(request)
	if err != nil {
		return State{}, err
	}
	id := uuid.NewString()
	err = b.db.Write(ctx, func(tx *db.Tx) error {
		return b.insert(ctx, tx, row{id: id, member: member, once: once, status: waiting, request: packed, commands: commands})
	})
	if errors.Is(err, db.ErrUnknownOutcome) {
		if s, found := b.Find(ctx, id); found == nil {
			return s, nil
		}
	}
	if fault.KindOf(err) == fault.Conflict {
		return b.under(ctx, member, once)
	}
	if err != nil {
		return State{}, err
	}
	return b.Find(ctx, id)
}

// Claim is the right to carry out one accepted request.
type Claim struct {
	ID      string
	Member  int64
	Created time.Time
	Request []byte

	book  *Book
	owner string // of this claim only: the fence
}

// Claim takes the request that has waited longest, if one waits. One that was
// claimed too often without an end is given up.
func (b *Book) Claim(ctx context.Context) (*Claim, error) {
	for {
		ids, err := b.waiting(ctx)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		for _, id := range ids {
			c, err := b.claim(ctx, id)
			if err != nil || c != nil {
				return c, err
			}
		}
	}
}

func (b *Book) waiting(ctx context.Context) ([]string, error) {
	rows, err := b.db.Query(ctx, `SELECT id FROM bulk_request WHERE status = 0 AND lease <= `+b.db.Dialect.NowMicros+
		` ORDER BY created_at, id LIMIT ?`, candidates)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, db.Fault(err)
		}
		ids = append(ids, id)
	}
	return ids, db.Fault(rows.Err())
}

// claim takes one request; nil when somebody else was quicker, or it is given up.
func (b *Book) claim(ctx context.Context, id string) (*Claim, error) {
	c := &Claim{ID: id, book: b, owner: uuid.NewString()}
	now := b.db.Dialect.NowMicros
	res, err := b.db.Exec(ctx, `UPDATE bulk_request SET owner = ?, lease = `+now+` + ?, claims = claims + 1
		WHERE id = ? AND status = 0 AND lease <= `+now, c.owner, lease.Microseconds(), id)
	if err != nil {
		return nil, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return nil, err
	}
	var created int64
	var claims int
	err = b.db.QueryRow(ctx, `SELECT actor_id, created_at, claims, request FROM bulk_request WHERE id = ? AND owner = ? AND status = 0`, id, c.owner).
		Scan(&c.Member, &created, &claims, &c.Request)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case claims > maxClaims:
		return nil, c.Refuse(ctx, givenUp())
	}
	c.Created = time.UnixMicro(created)
	if c.Request, err = unpack(c.Request); err != nil {
		return nil, c.Refuse(ctx, err)
	}
	return c, nil
}

func givenUp() error {
	return fault.Invalidf(fault.NoPlace, "The request was begun %d times and never ended; send it in smaller parts.", maxClaims)
}

// Hold renews the claim until stop is called. The context that it returns ends
// when the claim is lost.
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
			if errors.Is(c.renew(renewing), ErrLost) {
				lost(ErrLost)
				return
			}
		}
	}()
	return held, func() { end(); lost(nil) }
}

func (c *Claim) renew(ctx context.Context) error {
	now := c.book.db.Dialect.NowMicros
	return c.fenced(c.book.db.Exec(ctx, `UPDATE bulk_request SET lease = `+now+` + ? WHERE id = ? AND owner = ? AND status = 0`,
		lease.Microseconds(), c.ID, c.owner))
}

// keep writes how the request ended, if the claim still holds.
func (c *Claim) keep(ctx context.Context, tx *db.Tx, status int, answer []byte) error {
	packed, err := pack(answer)
	if err != nil {
		return err
	}
	return c.fenced(tx.Exec(ctx, `UPDATE bulk_request SET status = ?, answer = ?, request = NULL, expires_at = ?
		WHERE id = ? AND owner = ? AND status = 0`, status, packed, time.Now().Add(c.book.Keep).UnixMicro(), c.ID, c.owner))
}

// Answer ends a request that changed nothing. Errors: ErrLost.
func (c *Claim) Answer(ctx context.Context, answer []byte) error {
	return c.book.db.Write(ctx, func(tx *db.Tx) error { return c.keep(ctx, tx, answered, answer) })
}

// Refuse ends a request that was refused as a whole. Errors: ErrLost.
func (c *Claim) Refuse(ctx context.Context, why error) error {
	return c.book.db.Write(ctx, func(tx *db.Tx) error { return c.keep(ctx, tx, refused, packFault(why)) })
}

// Release gives the request back at once and takes the claim off the count;
// the process is about to stop.
func (c *Claim) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewEvery)
	defer cancel()
	return c.fenced(c.book.db.Exec(ctx, `UPDATE bulk_request SET lease = 0, owner = NULL, claims = claims - 1
		WHERE id = ? AND owner = ? AND status = 0`, c.ID, c.owner))
}

// Later gives the request back for another try after a pause.
func (c *Claim) Later(ctx context.Context) error {
	return c.fenced(c.book.db.Exec(ctx, `UPDATE bulk_request SET lease = `+c.book.db.Dialect.NowMicros+` + ?, owner = NULL
		WHERE id = ? AND owner = ? AND status = 0`, pause.Microseconds(), c.ID, c.owner))
}

// fenced turns a change of no row into ErrLost.
func (c *Claim) fenced(res db.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return ErrLost
	}
	return err
}
