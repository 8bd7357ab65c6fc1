package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// A new asset gets a rank after all others in its rank space. Each rank space has a sequence.
// The batch counts its new ranks; the allocator advances the sequence when the batch is
// written.

// nextRank reserves a rank after all others in the rank space of a type.
func (c *changes) nextRank(t *meta.Type) ranked {
	sequence := rankSequence(t)
	c.ranks[sequence]++
	return ranked{sequence, c.ranks[sequence]}
}

// ranked is a new rank. Its value is known when the allocator has advanced the sequence.
type ranked struct {
	sequence string
	nth      int64 // position among the new ranks of the sequence in this batch; the first is 1
}

func (r ranked) in(got allocation) any {
	return rankAt(got.first[r.sequence] - 1 + r.nth*rankStep)
}

// firstRankValue returns the initial value of the sequence of ranks that some types share.
// The first rank of the sequence is above all ranks in use.
func firstRankValue(ctx context.Context, tx *db.Tx, types []int64) (int64, error) {
	in, args := db.InArgs(types)
	var used *int64
	if err := tx.QueryRow(ctx, `SELECT MAX(order_key) FROM asset WHERE type IN `+in, args...).Scan(&used); err != nil {
		return 0, fmt.Errorf("greatest rank: %w", err)
	}
	if used == nil {
		return rankBegin, nil
	}
	return rankValue(*used), nil
}
