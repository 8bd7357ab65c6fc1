package app

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/seed"
)

// TestWritesBesideSubscriptions enables and disables subscriptions while other goroutines write.
// The change of a write must wait for its fan-out if a subscription was enabled. Otherwise the
// write may skip the fan-out.
func TestWritesBesideSubscriptions(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newWatched(t, d)
		stop := make(chan struct{})
		var others sync.WaitGroup
		for range 3 {
			others.Go(func() {
				for !isClosed(stop) {
					w.write(t.Context())
				}
			})
		}
		others.Go(func() {
			for !isClosed(stop) {
				w.look(t.Context())
			}
		})
		watched := map[int64]bool{} // key: generation of the subscriptions; value: true if a subscription was enabled
		for range 30 {
			id := w.subscribe()
			watched[w.generation()] = true
			w.write(t.Context())
			w.unsubscribe(id)
			w.write(t.Context())
		}
		close(stop)
		others.Wait()
		w.look(t.Context())
		w.write(t.Context())

		waiting, left := 0, 0
		err := db.Each(t.Context(), d, `SELECT id, generation, fan_state FROM audit WHERE id > 0`, nil, func(row db.Scanner) error {
			var id, generation, state int64
			if err := row.Scan(&id, &generation, &state); err != nil {
				return err
			}
			if told, _ := w.told.Load(id); state == 0 && told != true || state == 1 && d.Dialect.Returning && told != false {
				t.Errorf("the audit %d has the state %d, and was said to wait: %v", id, state, told)
			}
			switch {
			case watched[generation] && state == 0:
				waiting++
			case watched[generation]:
				t.Errorf("a write at generation %d, which a subscription watches, has the state %d", generation, state)
			case state == 1:
				left++
			}
			return nil
		})
		if err != nil || waiting < 30 || left == 0 {
			t.Errorf("%d writes wait, %d need not: %v", waiting, left, err)
		}
	})
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// watched is a write engine that skips the fan-out while no subscription is enabled.
type watched struct {
	*testing.T
	d      *db.DB
	engine *asset.Engine
	hooks  *webhook.Service
	quiet  *webhook.Unwatched
	told   sync.Map // key: audit id; value: the argument waits of Committed
}

// Committed stores its argument waits.
func (w *watched) Committed(audit int64, _ string, waits bool) { w.told.Store(audit, waits) }

func newWatched(t *testing.T, d *db.DB) *watched {
	t.Helper()
	m := meta.Default()
	if err := seed.Run(t.Context(), d, m); err != nil {
		t.Fatal(err)
	}
	box, err := secret.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{T: t, d: d, quiet: webhook.NewUnwatched(d)}
	w.engine = asset.New(d, m, nil, w)
	w.engine.Unwatched = w.quiet.Generation
	w.hooks = webhook.New(d, m, webhook.Options{Find: find.New(d, m), Box: box, Public: "http://alds.test/alds"})
	return w
}

func (w *watched) look(ctx context.Context) {
	if err := w.quiet.Look(ctx); err != nil {
		w.Error(err)
	}
}

// write creates a story.
func (w *watched) write(ctx context.Context) {
	story, _ := w.engine.Model().Type("Story")
	err := w.engine.Write(ctx, auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
		made, err := s.Run(ctx, []*asset.Command{{Verb: asset.Create, Type: story, Self: &asset.Handle{}, Changes: []asset.Change{
			{Name: "Name", Set: []asset.Value{{Kind: asset.Text, Text: "S"}}}, {Name: "Scope", Set: []asset.Value{{Kind: asset.Text, Text: "Scope:0"}}},
		}}})
		if err == nil {
			err = made[0].Err
		}
		return err
	})
	if err != nil {
		w.Error(err)
	}
}

func (w *watched) subscribe() string {
	w.Helper()
	s, err := w.hooks.Create(w.Context(), auth.System, []byte(`{"url": "http://127.0.0.1:9/", "enabled": true, "eventTypes": [{"type": "AssetCreated", "from": "Story"}]}`))
	if err != nil {
		w.Fatal(err)
	}
	return s.ID
}

func (w *watched) unsubscribe(id string) {
	w.Helper()
	if _, err := w.hooks.Update(w.Context(), auth.System, id, []byte(`{"enabled": false}`)); err != nil {
		w.Fatal(err)
	}
}

// generation returns the generation of the subscriptions.
func (w *watched) generation() (n int64) {
	w.Helper()
	if err := w.d.QueryRow(w.Context(), `SELECT value FROM sequence WHERE name = 'webhook'`).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}
