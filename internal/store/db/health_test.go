package db_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// A check of readiness has its own connection. So it works even while all connections for requests
// are in use.
func TestHealthHasAConnectionOfItsOwn(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		hold, held := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		n := 0
		for _, pool := range d.Pools() {
			if pool.Name != "lookup" && pool.Name != "other" {
				continue
			}
			from := d
			if pool.Name == "lookup" {
				from = d.Lookup()
			}
			for range pool.Limit {
				n++
				all.Go(func() {
					err := db.Each(ctx, from, "SELECT 1", nil, func(db.Scanner) error {
						held <- struct{}{}
						<-hold
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		for range n {
			<-held
		}
		if err := d.Health().Ping(ctx); err != nil {
			t.Errorf("ping: %v", err)
		}
		if err := d.Health().SchemaIsCurrent(ctx); err != nil {
			t.Errorf("schema: %v", err)
		}
		within, end := context.WithTimeout(ctx, 50*time.Millisecond)
		defer end()
		if err := d.Ping(within); err == nil {
			t.Error("a connection was left, so this shows nothing")
		}
		close(hold)
		all.Wait()
	})
}

func TestRoundTrip(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		if took, err := d.RoundTrip(t.Context()); err != nil || took <= 0 {
			t.Errorf("%s, %v", took, err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := d.RoundTrip(ended); err == nil {
			t.Error("a server that was not asked")
		}
	})
}
