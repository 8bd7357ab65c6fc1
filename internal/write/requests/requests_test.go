package requests_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/requests"
)

func TestMain(m *testing.M) {
	testdb.Judged(m,
		"DELETE FROM bulk_request",
	)
}

const (
	member = 20
	hash   = "0000000000000000000000000000000000000000000000000000000000000000"
)

func accept(t *testing.T, b *requests.Store, key, request string) requests.State {
	t.Helper()
	s, err := b.Accept(t.Context(), member, requests.Identity{Key: key, Hash: hash}, []byte(request), 3)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func claim(t *testing.T, b *requests.Store) *requests.Claim {
	t.Helper()
	c, err := b.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func body(t *testing.T, c *requests.Claim) string {
	t.Helper()
	b, err := c.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// expire ends the lease of every claim, as if nobody had renewed it.
func expire(t *testing.T, d *db.DB) {
	t.Helper()
	if _, err := d.Exec(t.Context(), `UPDATE bulk_request SET lease = 0 WHERE status = 0`); err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T, b *requests.Store, id string) requests.State {
	t.Helper()
	s, err := b.Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARequestWaitsIsClaimedAndAnswered(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		b := requests.New(d)
		first, second := accept(t, b, "", "one"), accept(t, b, "", "two")
		if first.Done || first.Processing || first.Commands != 3 || first.Member != member {
			t.Errorf("accepted as %+v", first)
		}
		c := claim(t, b)
		if c == nil || c.ID != first.ID || body(t, c) != "one" || c.Member != member {
			t.Fatalf("claimed %+v, want the one that waits longest", c)
		}
		if !state(t, b, first.ID).Processing || state(t, b, second.ID).Processing {
			t.Error("only what is claimed is processing")
		}
		other := claim(t, requests.New(d)) // another process
		if other == nil || other.ID != second.ID {
			t.Fatalf("another process claimed %+v", other)
		}
		if more := claim(t, b); more != nil {
			t.Errorf("claimed %+v, which is claimed", more)
		}
		if err := c.Complete(t.Context(), []byte(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
		if err := other.Refuse(t.Context(), fault.Invalidf(7, "No")); err != nil {
			t.Fatal(err)
		}
		if s := state(t, b, first.ID); !s.Done || string(s.Answer) != `{"a":1}` || s.Err != nil {
			t.Errorf("the answer: %+v", s)
		}
		if s := state(t, b, second.ID); !s.Done || fault.KindOf(s.Err) != fault.Invalid || fault.Public(s.Err) != "No" || fault.Place(s.Err) != 7 {
			t.Errorf("the refusal: %+v", s)
		}
		expire(t, d)
		if more := claim(t, b); more != nil {
			t.Errorf("claimed %+v, which is done", more)
		}
	})
}

// TestALostClaimWritesNothing checks that a process that lost its claim cannot write.
func TestALostClaimWritesNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		b := requests.New(d)
		id := accept(t, b, "", "x").ID
		lost := claim(t, b)
		expire(t, d)
		holds := claim(t, b)
		if holds == nil || holds.ID != id {
			t.Fatalf("a claim whose lease is over was not taken over: %+v", holds)
		}
		for what, do := range map[string]func() error{
			"answers":  func() error { return lost.Complete(t.Context(), []byte("late")) },
			"refuses":  func() error { return lost.Refuse(t.Context(), errors.New("late")) },
			"releases": func() error { return lost.Release(t.Context()) },
			"pauses":   func() error { return lost.Retry(t.Context()) },
		} {
			if err := do(); !errors.Is(err, lease.ErrLost) {
				t.Errorf("who lost the claim %s: %v", what, err)
			}
		}
		if err := holds.Complete(t.Context(), []byte("in time")); err != nil {
			t.Fatal(err)
		}
		if s := state(t, b, id); string(s.Answer) != "in time" {
			t.Errorf("the answer is %q", s.Answer)
		}
	})
}

func TestGivenBackAndGivenUp(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		b := requests.New(d)
		id := accept(t, b, "k", "x").ID
		for range 10 { // a released claim does not count
			if err := claim(t, b).Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		c := claim(t, b)
		var before, until int64
		for _, step := range []func() error{
			func() error { return d.QueryRow(t.Context(), "SELECT "+d.Dialect.NowMicros).Scan(&before) },
			func() error { return c.Retry(t.Context()) },
			func() error {
				return d.QueryRow(t.Context(), "SELECT lease FROM bulk_request WHERE status = 0").Scan(&until)
			},
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		if pause := until - before; pause < (5 * time.Second).Microseconds() {
			t.Errorf("it may be claimed again after %d µs", pause)
		}
		for range 4 { // a claim that expires counts
			expire(t, d)
			if claim(t, b) == nil {
				t.Fatal("not claimed")
			}
		}
		expire(t, d)
		if c := claim(t, b); c != nil {
			t.Errorf("claimed a sixth time")
		}
		const want = "The request was begun 5 times and never ended; send it in smaller parts."
		if s := state(t, b, id); fault.Public(s.Err) != want {
			t.Errorf("given up with %v", s.Err)
		}
		if _, _, err := b.Begin(t.Context(), member, "new", requests.Identity{Key: "k", Hash: hash}); fault.Public(err) != want {
			t.Errorf("the same key again: %v", err)
		}
	})
}

// TestHoldTellsOfTheLoss checks that a claim is renewed while its work continues, and that the
// context of the work ends if the claim is lost.
func TestHoldTellsOfTheLoss(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		t.Parallel() // the test waits for a renewal
		b := requests.New(d)
		accept(t, b, "", "x")
		held, stop := claim(t, b).Hold(t.Context())
		defer stop()
		expire(t, d)
		if claim(t, b) == nil {
			t.Fatal("not taken over")
		}
		select {
		case <-held.Done():
		case <-time.After(time.Minute):
			t.Fatal("the loss is not told")
		}
		if err := context.Cause(held); !errors.Is(err, lease.ErrLost) {
			t.Errorf("the cause is %v", err)
		}
	})
}

func TestOneKeyOneEntry(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		b := requests.New(d)
		id := accept(t, b, "k", "x").ID
		if again := accept(t, b, "k", "x"); again.ID != id {
			t.Errorf("the same key gave %s and %s", id, again.ID)
		}
		if other, err := b.Accept(t.Context(), member+1, requests.Identity{Key: "k", Hash: hash}, nil, 1); err != nil || other.ID == id {
			t.Errorf("another member's key: %v, %v", other.ID, err)
		}
		another := requests.Identity{Key: "k", Hash: strings.Repeat("1", 64)}
		if _, err := b.Accept(t.Context(), member, another, nil, 1); fault.KindOf(err) != fault.Conflict {
			t.Errorf("another body: %v", err)
		}
		long := requests.Identity{Key: strings.Repeat("k", 256), Hash: hash}
		if _, err := b.Accept(t.Context(), member, long, nil, 1); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a key of 256 bytes: %v", err)
		}
		_, _, err := b.Begin(t.Context(), member, "new", requests.Identity{Key: "k", Hash: hash})
		if fault.KindOf(err) != fault.Conflict || !strings.Contains(fault.Public(err), "still running") {
			t.Errorf("sent again without respond-async while it waits: %v", err)
		}
	})
}

// TestKeysDoNotWaitForEachOther checks that a request does not wait for an unfinished request
// with another key. The test does not use SQLite, which runs one write at a time.
func TestKeysDoNotWaitForEachOther(t *testing.T) {
	d := testdb.MySQL(t)
	b := requests.New(d)
	begin := func(ctx context.Context, key string, then func(context.Context) error) error {
		id := uuid.NewString()
		e, _, err := b.Begin(ctx, member, id, requests.Identity{Key: key, Hash: hash})
		if err != nil {
			return err
		}
		defer e.End()
		return d.Write(ctx, func(tx *db.Tx) error {
			if err := e.Insert(tx); err != nil {
				return err
			}
			return then(ctx)
		})
	}
	err := begin(t.Context(), "one", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 40*time.Second) // shorter than the lock timeout of the database server
		defer cancel()
		return begin(ctx, "another", func(context.Context) error { return nil })
	})
	if err != nil {
		t.Errorf("a key beside another one that is being written: %v", err)
	}
}

// TestMembersTakeTurns checks that many requests of one member do not delay the requests of other
// members.
func TestMembersTakeTurns(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		b := requests.New(d)
		names := map[string]string{}
		for _, r := range []struct {
			member int64
			name   string
		}{{20, "a1"}, {20, "a2"}, {20, "a3"}, {21, "b1"}, {19, "c1"}, {21, "b2"}} {
			s, err := b.Accept(t.Context(), r.member, requests.Identity{Hash: hash}, []byte("x"), 1)
			if err != nil {
				t.Fatal(err)
			}
			names[s.ID] = r.name
		}
		var got []string
		for c := claim(t, b); c != nil; c = claim(t, b) {
			got = append(got, names[c.ID])
		}
		if want := []string{"c1", "a1", "b1", "a2", "b2", "a3"}; !slices.Equal(got, want) {
			t.Errorf("claimed in the order %v, want %v", got, want)
		}
	})
}

// TestAnAnswerIsUnpackedInReservedMemory checks that reading a compressed request or answer
// reserves memory for its uncompressed size.
func TestAnAnswerIsUnpackedInReservedMemory(t *testing.T) {
	d := testdb.SQLite(t)
	b := requests.New(d)
	id := accept(t, b, "", strings.Repeat("x", 2<<20)).ID
	c := claim(t, b)
	if c.Again {
		t.Error("the first claim is said to be another one")
	}
	within := memory.With(t.Context(), memory.NewBudget(2<<20).Hold(member))
	if _, err := c.Request(within); fault.KindOf(err) != fault.Invalid {
		t.Errorf("the request: %v", err)
	}
	if err := c.Complete(t.Context(), bytes.Repeat([]byte("x"), 2<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find(within, id); fault.KindOf(err) != fault.Invalid {
		t.Errorf("the answer: %v", err)
	}
	if s, err := b.Outcome(within, id); err != nil || !s.Done || s.Answer != nil {
		t.Errorf("the outcome: %+v, %v", s, err)
	}
}

// TestLargeRequests checks that a request or answer is refused if its compressed form is too
// large. A large request is accepted if it compresses well.
func TestLargeRequests(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		b := requests.New(d)
		plain := strings.Repeat(`{"AssetType":"Story"},`, 1<<20)
		accept(t, b, "", plain)
		c := claim(t, b)
		if got := body(t, c); got != plain {
			t.Errorf("%d bytes came back of %d", len(got), len(plain))
		}
		noise := make([]byte, 16<<20)
		var seed [32]byte
		if _, err := rand.NewChaCha8(seed).Read(noise); err != nil {
			t.Fatal(err)
		}
		if err := c.Complete(t.Context(), noise); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "too large to be kept") {
			t.Errorf("an answer that does not fit: %v", err)
		}
		if _, err := b.Accept(t.Context(), member, requests.Identity{Hash: hash}, noise, 1); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a request that does not fit: %v", err)
		}
		like := []byte{0x1f, 0x8b, 'x'}
		if err := c.Complete(t.Context(), like); err != nil {
			t.Fatal(err)
		}
		if s := state(t, b, c.ID); !bytes.Equal(s.Answer, like) {
			t.Errorf("what looks packed came back as %q", s.Answer)
		}
	})
}

// TestDeleteExpired checks that an answer is stored for the time of Retention, and that a waiting
// request is never deleted.
func TestDeleteExpired(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		b := requests.New(d)
		kept := accept(t, b, "kept", "x")
		if err := claim(t, b).Complete(t.Context(), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		b.Retention = -time.Second // the answer expires as soon as it is written
		over := accept(t, b, "over", "x")
		if err := claim(t, b).Complete(t.Context(), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		waits := accept(t, b, "waits", "x")
		if err := requests.DeleteExpired(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]fault.Kind{kept.ID: fault.Internal, waits.ID: fault.Internal, over.ID: fault.NotFound} {
			if _, err := b.Find(t.Context(), id); err == nil && want == fault.NotFound || err != nil && fault.KindOf(err) != want {
				t.Errorf("%s: %v", id, err)
			}
		}
		b.Retention = time.Hour
		if again := accept(t, b, "over", "x"); again.ID == over.ID || again.Done {
			t.Errorf("a key whose time is over: %+v", again)
		}
	})
}
