package db

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/admission"
	"github.com/alds-dev/alds/internal/store/connection"
)

const (
	// maxShared is the maximum number of writes that share a transaction of SQLite.
	maxShared = 64

	// sharedTime is the maximum age of a transaction that another write may join. If this write
	// still runs when the transaction has twice that age, it is undone, and runs again in a
	// transaction of its own. So earlier writes do not wait long for it.
	sharedTime = 10 * time.Millisecond
)

var (
	// errLate ends a write for which earlier writes would wait too long.
	errLate = fault.Transientf(nil, "the write takes a transaction of its own")

	// errShared is the error of a write whose shared transaction was ended by another write.
	errShared = errors.New("a write that shared the transaction has ended it")

	errRolledBack = errors.New("the database has rolled the transaction back")
)

// turns runs the writes of a SQLite database one after the other. If other writes wait, a write
// leaves its transaction open for the next write. The last of these writes commits for all of them,
// because a commit waits for the disk, which takes longer than most writes.
type turns struct {
	admission.Turns
	reads time.Duration // how long the queries of a turn may take

	open *shared // the open transaction of the write whose turn it is; nil for none
}

// shared is a transaction of several writes. Each write after the first has a savepoint.
type shared struct {
	*connection.FileTx

	began   time.Time
	undo    []func() // see Tx.OnUndo
	writes  int
	changes int64

	done chan struct{} // closed when the transaction has ended
	err  error         // set before done is closed: why nothing was committed; nil after a commit
}

// leave ends a turn. If the next write may join the open transaction, the transaction stays open;
// otherwise leave commits it. If alone is true, no write may join.
func (w *turns) leave(d *DB, alone bool) {
	if s := w.open; s != nil {
		if !alone && s.writes < maxShared && time.Since(s.began) < sharedTime && w.Pass() {
			return
		}
		w.commit(d)
	}
	w.End()
}

func (w *turns) commit(d *DB) {
	s := w.open
	err := s.Commit()
	if err == nil {
		d.statistics.changed(s.changes)
		d.checkpoints.wake()
	}
	w.ended(err)
}

// ended ends the open transaction for all its writes. err is the reason why it is rolled back, or
// nil after a commit.
func (w *turns) ended(err error) {
	s := w.open
	w.open = nil
	s.err = err
	if err == nil {
		s.Close()
	} else {
		s.rollBack()
	}
	close(s.done)
}

// rollBack runs the OnUndo functions of all writes, and rolls the transaction back.
func (s *shared) rollBack() {
	for _, fn := range s.undo {
		fn()
	}
	s.Rollback()
}

// share runs fn once, in its turn, in a transaction that several writes may share. It returns when
// that transaction ends, even if fn has failed: the error of fn may depend on earlier writes that
// are not committed yet. If alone is true, the transaction is not shared. mayRepeat reports whether
// fn may run again.
// Errors: errShared if another write has ended the transaction.
func (d *DB) share(ctx context.Context, fn func(*Tx) error, alone bool) (err error, mayRepeat bool) {
	w := d.turns
	if err := w.Take(ctx, memberOf(ctx)); err != nil {
		return err, false
	}
	left := false
	defer func() {
		if !left { // fn has panicked
			w.leave(d, alone)
		}
	}()
	if alone && w.open != nil {
		w.commit(d)
	}
	s, err := d.joined(ctx, fn)
	left = true
	w.leave(d, alone)
	if s == nil {
		return err, mayRetry(err)
	}
	<-s.done
	switch {
	case s.err == nil:
		return err, false
	case errors.Is(s.err, errShared):
		return s.err, true
	}
	return s.err, mayRetry(s.err)
}

// joined runs fn in the open transaction, or in a new one. It returns the transaction to wait
// for, or nil if it has ended together with fn.
func (d *DB) joined(ctx context.Context, fn func(*Tx) error) (*shared, error) {
	w := d.turns
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.open != nil {
		s := w.open
		err := d.follow(ctx, s, fn)
		switch {
		case !errors.Is(err, errLate):
			if w.open == nil { // fn has ended the transaction
				return nil, err
			}
			return s, err
		case w.open != nil:
			w.commit(d)
		}
	}
	if err := d.begin(ctx); err != nil {
		return nil, err
	}
	s := w.open
	stands := false
	defer func() {
		if !stands {
			w.ended(errShared)
		}
	}()
	if err := d.run(ctx, s, &Tx{}, fn); err != nil {
		return nil, err
	}
	stands = true
	return s, nil
}

// follow runs fn under a savepoint of a transaction in which other writes have written. Errors: the
// error of fn; errLate if fn must run again. If an error has ended the transaction, no transaction
// is open afterwards.
func (d *DB) follow(ctx context.Context, s *shared, fn func(*Tx) error) (err error) {
	if err := s.Savepoint(); err != nil {
		d.turns.ended(errShared)
		return errors.Join(errShared, err)
	}
	stands := false
	defer func() {
		var failed error
		if !stands {
			failed = s.UndoSavepoint()
		}
		if failed = cmp.Or(failed, s.ReleaseSavepoint()); failed != nil {
			d.turns.ended(errShared)
			if err == nil {
				err = failed
			}
		}
	}()
	if err := d.run(ctx, s, &Tx{late: s.began.Add(2 * sharedTime)}, fn); err != nil {
		return err
	}
	stands = true
	return nil
}

// run runs fn as one write of the transaction s, with the time limit of a write.
func (d *DB) run(ctx context.Context, s *shared, t *Tx, fn func(*Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	t.d, t.tx, t.ctx, t.shared = d, s.Conn, ctx, s
	t.until, _ = ctx.Deadline()
	defer func() { t.undone(0) }() // unless fn succeeds
	err := fn(t)
	if t.aborted != nil { // fn may have ignored the error
		err = t.aborted
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && !s.IsActive() { // after an error that fn has not returned
		err = errRolledBack
	}
	if err == nil {
		s.writes++
		s.changes += t.changes
		s.undo, t.undo = append(s.undo, t.undo...), nil
	}
	return err
}

// begin opens a transaction. The end of ctx does not end it.
func (d *DB) begin(ctx context.Context) error {
	tx, err := connection.BeginFile(ctx, d.writer)
	if err != nil {
		return err
	}
	d.turns.open = &shared{FileTx: tx, began: time.Now(), done: make(chan struct{})}
	return nil
}
