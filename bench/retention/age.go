package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// age distributes all changes over the last year, in the order of their moments. Stories exist
// from the start of that year. Each version gets the time of its stamp.
func (b *bench) age(ctx context.Context) error {
	var first, last int64
	err := b.db.QueryRow(ctx, "SELECT MAX(created_moment), MAX(moment) FROM asset WHERE type = 4").Scan(&first, &last)
	if err != nil {
		return err
	}
	stamps, err := db.Column[int64](ctx, b.db, "SELECT last_moment FROM moment_stamp ORDER BY last_moment")
	if err != nil {
		return err
	}
	year := (365 * 24 * time.Hour).Microseconds()
	begin := time.Now().UnixMicro() - year
	for from := 0; from < len(stamps); from += 500 {
		err := b.db.Write(ctx, func(tx *db.Tx) error {
			for n := from; n < min(from+500, len(stamps)); n++ {
				before := int64(0)
				if n > 0 {
					before = stamps[n-1]
				}
				at := begin + max(0, stamps[n]-first)*(year/(last-first+1))/1000*1000
				if err := ageStamp(ctx, tx, before, stamps[n], at); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, update := range []string{
		"UPDATE asset_version v JOIN asset_version f ON f.id = v.id AND f.moment = v.created_moment SET v.created_at = f.changed_at WHERE v.moment > 0",
		"UPDATE asset a JOIN asset_version v ON v.id = a.id AND v.moment = a.moment SET a.changed_at = v.changed_at, a.created_at = v.created_at WHERE a.moment > 0",
	} {
		if _, err := b.db.Exec(ctx, update); err != nil {
			return err
		}
	}
	return nil
}

// ageStamp sets the time of all moments of a stamp.
func ageStamp(ctx context.Context, tx *db.Tx, before, last, at int64) error {
	for update, args := range map[string][]any{
		"UPDATE moment_stamp SET at = ? WHERE last_moment = ?":                     {at, last},
		"UPDATE asset_version SET changed_at = ? WHERE moment > ? AND moment <= ?": {at, before, last},
	} {
		if _, err := tx.Exec(ctx, update, args...); err != nil {
			return fmt.Errorf("age the moments up to %d: %w", last, err)
		}
	}
	return nil
}
