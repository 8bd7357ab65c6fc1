package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPartsStopStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		until := func(name string, step int, slow time.Duration) part {
			return part{name: name, step: step, run: func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(slow)
				order = append(order, name)
				return ctx.Err()
			}}
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		err := runParts(ctx, []part{until("admin", stepAdmin, 0), until("api", stepWork, time.Second), until("hints", stepQueue, 0)},
			10*time.Second, slog.New(slog.DiscardHandler))
		if err != nil || !slices.Equal(order, []string{"api", "hints", "admin"}) {
			t.Errorf("stopped as %v, %v", order, err)
		}
	})
}

func TestWhatEndsAllParts(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		why  string
		run  func(ctx context.Context) error
		want string
	}{
		{"a part that fails", func(context.Context) error { return broken }, "bad: broken"},
		{"a part that ends by itself", func(context.Context) error { return nil }, "bad: ended unexpectedly"},
		{"a part that panics", func(context.Context) error { panic("oh") }, "bad: panic: oh"},
	} {
		synctest.Test(t, func(t *testing.T) {
			good := part{name: "good", run: func(ctx context.Context) error { <-ctx.Done(); return nil }}
			err := runParts(t.Context(), []part{good, {name: "bad", run: c.run}}, time.Second, slog.New(slog.DiscardHandler))
			if err == nil || err.Error() != c.want {
				t.Errorf("%s: %v", c.why, err)
			}
		})
	}
}

func TestAPartThatDoesNotEndIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stuck := part{name: "stuck", run: func(context.Context) error { time.Sleep(time.Hour); return nil }}
		began := time.Now()
		err := runParts(ctx, []part{stuck}, 5*time.Second, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "within 5s") || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		time.Sleep(time.Hour)
	})
}
