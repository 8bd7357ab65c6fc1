package db_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestReadersThatAreTakenGoOn checks that a read is not ended after its client has read the data,
// even if other reads are queued then.
func TestReadersThatAreTakenGoOn(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		d.EndStalledReadersAtOnce()
		pools := d.Pools()
		long := pools[slices.IndexFunc(pools, func(p db.Pool) bool { return p.Name == "long" })].Limit
		hold := make(chan struct{})
		var all sync.WaitGroup
		sent := make(chan struct{}, long)
		for i := range 2 * long {
			all.Go(func() {
				late := false // the machine was too busy to read the data within a millisecond
				err := d.ReadLong(db.WithMember(ctx, int64(i)), func(tx *db.Tx) error {
					err := db.Yield(ctx, tx, func() error { return nil })
					sent <- struct{}{}
					if late = err != nil; late {
						return err
					}
					<-hold
					return run(ctx, tx, "SELECT 1 + ?")
				})
				if err != nil && !late {
					t.Errorf("read %d: %v", i, err)
				}
			})
		}
		for range max(2, (long+1)/2) { // as many as may run at the same time
			<-sent
		}
		time.Sleep(20 * time.Millisecond) // if this is too short, the test cannot find the defect, but it does not fail
		go func() {
			for range sent {
			}
		}()
		close(hold)
		all.Wait()
		close(sent)
	})
}

// TestStalledReadersMakeRoom uses all places of long reads for reads whose clients do not
// read. Other reads must begin, and the stalled ones must get an error.
func TestStalledReadersMakeRoom(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		d.EndStalledReadersAtOnce()
		pools := d.Pools()
		long := pools[slices.IndexFunc(pools, func(p db.Pool) bool { return p.Name == "long" })].Limit
		hold := make(chan struct{})
		var stalled, others sync.WaitGroup
		yielding := make(chan struct{}, long)
		errs := make([]error, long)
		for i := range long {
			stalled.Go(func() {
				errs[i] = d.ReadLong(db.WithMember(ctx, int64(i)), func(tx *db.Tx) error {
					return db.Yield(ctx, tx, func() error { yielding <- struct{}{}; <-hold; return nil })
				})
			})
		}
		for range long {
			<-yielding
		}
		for i := range long {
			others.Go(func() {
				err := d.ReadLong(db.WithMember(ctx, int64(100+i)), func(tx *db.Tx) error { return run(ctx, tx, "SELECT 1 + ?") })
				if err != nil {
					t.Errorf("a read of another member: %v", err)
				}
			})
		}
		others.Wait()
		close(hold)
		stalled.Wait()
		if !slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, db.ErrStalled) }) {
			t.Errorf("the stalled reads ended with %v", errs)
		}
	})
}
