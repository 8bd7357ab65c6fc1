package sequence

import (
	"context"
	"fmt"
	"sync"

	"github.com/alds-dev/alds/internal/store/db"
)

// Block allocates ids of a sequence, from a range that the process has reserved. It is safe for
// concurrent use.
type Block struct {
	sequence string
	size     int64 // the least number of ids to reserve at once
	mu       sync.Mutex
	first    int64 // the first id that is left in the range
	end      int64 // the end of the range, exclusive
}

// NewBlock returns the block of a sequence. It reserves at least size ids at once.
func NewBlock(name string, size int64) *Block { return &Block{sequence: name, size: size} }

// Next returns the first of n consecutive ids. If too few ids are left, it reserves a new range.
// If Dialect.SmallInside is false, it reserves the range in tx, and a rollback of tx discards the
// range.
func (b *Block) Next(ctx context.Context, d *db.DB, tx *db.Tx, n int64) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end-b.first < n {
		var err error
		if d.Dialect.SmallInside {
			err = d.Small(ctx, func(tx *db.Tx) error { return b.reserve(ctx, tx, n) })
		} else if err = b.reserve(ctx, tx, n); err == nil {
			tx.OnUndo(b.giveUp)
		}
		if err != nil {
			b.first, b.end = 0, 0
			return 0, fmt.Errorf("allocate %s: %w", b.sequence, err)
		}
	}
	first := b.first
	b.first += n
	return first, nil
}

// reserve reserves a range of at least n ids.
func (b *Block) reserve(ctx context.Context, tx *db.Tx, n int64) error {
	size := max(b.size, n)
	first, err := Advance(ctx, tx, b.sequence, size)
	b.first, b.end = first, first+size
	return err
}

// giveUp discards the range after its reservation was rolled back.
func (b *Block) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first, b.end = 0, 0
}

// Advance adds n to a sequence and returns the first of the n new values.
// Errors: fault.NotFound if the sequence does not exist.
func Advance(ctx context.Context, tx *db.Tx, name string, n int64) (int64, error) {
	const update = `UPDATE sequence SET value = value + ? WHERE name = ?`
	var value int64
	if tx.Dialect().Returning {
		err := tx.QueryRow(ctx, update+` RETURNING value`, n, name).Scan(&value)
		return value - n + 1, err
	}
	if _, err := tx.Exec(ctx, update, n, name); err != nil {
		return 0, err
	}
	err := tx.QueryRow(ctx, `SELECT value FROM sequence WHERE name = ?`, name).Scan(&value)
	return value - n + 1, err
}
