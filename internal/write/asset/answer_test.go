package asset_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/requests"
)

// reply is the answer or the error of a request with an idempotency key.
type reply struct {
	answer string
	err    error
}

// ask sends a request that has an idempotency key and creates a story. If reached is not nil, ask
// sends to it from inside the transaction, and then waits for goOn.
func (w *harness) ask(e *asset.Engine, answer string, reached chan<- struct{}, goOn <-chan struct{}) reply {
	once := requests.Identity{Key: "k", Hash: strings.Repeat("0", 64)}
	b, err := e.Answer(context.Background(), auth.System, asset.Request{ID: uuid.NewString()}, once, func(s *asset.Session) ([]byte, error) {
		c := create("Story", "@s", "Name", "S", "Scope", "Scope:0")
		s.Define(c.Self.Alias, c.Self)
		if _, err := s.Run(context.Background(), []*asset.Command{c}); err != nil {
			return nil, err
		}
		if reached != nil {
			reached <- struct{}{}
			<-goOn
		}
		return []byte(answer), nil
	})
	return reply{string(b), err}
}

// While the first request with a key runs, the same process refuses a second request with the
// key. Another process waits for the first request and returns the same answer. Only one story is
// created.
func TestConcurrentDuplicates(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		other := newHarness(t, w.d) // like another process
		reached, goOn := make(chan struct{}), make(chan struct{})
		first, second := make(chan reply, 1), make(chan reply, 1)
		go func() { first <- w.ask(w.e, "first", reached, goOn) }()
		<-reached
		twin := w.ask(w.e, "twin", nil, nil)
		if fault.KindOf(twin.err) != fault.Conflict || fault.Public(twin.err) != "The first request with this Idempotency-Key is still running" {
			t.Errorf("the twin in the same process: %+v", twin)
		}
		go func() { second <- w.ask(other.e, "second", nil, nil) }()
		close(goOn)
		if r := <-first; r.answer != "first" || r.err != nil {
			t.Errorf("the first: %+v", r)
		}
		if r := <-second; r.answer != "first" || r.err != nil {
			t.Errorf("the twin in another process: %+v", r)
		}
		if r := w.ask(w.e, "late", nil, nil); r.answer != "first" || r.err != nil {
			t.Errorf("sent again later: %+v", r)
		}
		w.expect("1\n", `SELECT COUNT(*) FROM asset WHERE name = 'S'`)
	})
}

// The answer of an atomic request is stored even if the request was rolled back.
func TestAnswerOfRolledBackRequest(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		runs := 0
		for range 2 {
			once := requests.Identity{Key: "k", Hash: strings.Repeat("0", 64)}
			b, err := w.e.Answer(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, once, func(*asset.Session) ([]byte, error) {
				runs++
				return []byte("failed"), asset.ErrRollback
			})
			if err != nil || string(b) != "failed" {
				t.Errorf("%s, %v", b, err)
			}
		}
		if runs != 1 {
			t.Errorf("it ran %d times", runs)
		}
	})
}
