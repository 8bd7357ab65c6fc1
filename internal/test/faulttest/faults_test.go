package faulttest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testproc"
)

var (
	faults    = flag.Int("faults", 0, "random faults of each test that has them; 0: 5 with -short, else 12")
	faultSeed = flag.Uint64("faultseed", 0, "seed of the random faults; 0: another one every time")
)

// chance returns the source of a test's random choices, and the seed to name
// where something fails.
func chance(t *testing.T) (*rand.Rand, uint64) {
	t.Helper()
	seed := *faultSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-faultseed %d", seed)
	return rand.New(rand.NewPCG(seed, 3)), seed
}

// together lets a short test run beside others, since it waits most of the time. A long
// one is alone: it fails where something takes too long.
func together(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Parallel()
	}
}

// depth is a number for the short form of a test, or the one for its long form.
func depth(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}

// late says that a kill came too late to be of use, which depends on the machine: only the
// long form fails by it.
func late(t *testing.T, what string) {
	t.Helper()
	if testing.Short() {
		t.Log(what)
		return
	}
	t.Error(what)
}

// manyFaults is how many random faults a test has.
func manyFaults() int { return cmp.Or(*faults, depth(5, 12)) }

// breakage is one way to break something.
type breakage struct {
	name   string
	weight int
	strike func()
}

// often is the weight of what is part of every sample.
const often = 3

// strikeAll strikes n times, in random order and at random instants. Each fault comes
// about as often as its weight says, and at least once if n allows, those that matter
// most first.
func strikeAll(g *rand.Rand, n int, pause time.Duration, all []breakage) map[string]int {
	var deck []breakage
	for len(deck) < n {
		var once, more []breakage
		for _, f := range all {
			once = append(once, f)
			for range f.weight - 1 {
				more = append(more, f)
			}
		}
		g.Shuffle(len(once), func(i, k int) { once[i], once[k] = once[k], once[i] })
		slices.SortStableFunc(once, func(a, b breakage) int { return min(b.weight, often) - min(a.weight, often) })
		g.Shuffle(len(more), func(i, k int) { more[i], more[k] = more[k], more[i] })
		deck = append(append(deck, once...), more...)
	}
	deck = deck[:n]
	g.Shuffle(n, func(i, k int) { deck[i], deck[k] = deck[k], deck[i] })
	struck := map[string]int{}
	for _, f := range deck {
		time.Sleep(pause/8 + rand.N(pause))
		f.strike()
		struck[f.name]++
	}
	return struck
}

// databaseFaults take the database away in every way that is not a deadlock.
func (s *site) databaseFaults() []breakage {
	return []breakage{
		{"connections killed", 2, s.cut},
		{"MariaDB killed", 2, func() { s.mariadb.Kill(); s.mariadb.Start() }},
		{"MariaDB restarted", 1, func() { s.mariadb.Stop(); s.mariadb.Start() }},
	}
}

// cut kills the connections that processes have to the database.
func (s *site) cut() {
	s.t.Helper()
	var ids []int64
	s.each("SELECT id FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID()", func() { ids = nil }, func(rows *db.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, database)
	for _, id := range ids {
		_, _ = s.db.Exec(s.t.Context(), fmt.Sprintf("KILL %d", id)) // it may have gone
	}
}

// emptyRedis is FLUSHALL.
func (s *site) emptyRedis() {
	s.t.Helper()
	options, err := redis.ParseURL(s.redis.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	c := redis.NewClient(options)
	defer c.Close()
	if err := c.FlushAll(s.t.Context()).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// crossing is a transaction that another one deadlocks with.
type crossing struct {
	s           *site
	first, last int64  // ids of the rows they both want
	other       func() // starts the other one, which takes the first one first
}

// deadlock locks the last row, waits until the other one, which took the first
// row, waits for it, and asks for the first. The server ends the one that has
// written less, so this one has written a lot.
func (c crossing) deadlock(ctx context.Context) error {
	tries := 0
	err := c.s.db.Write(ctx, func(tx *db.Tx) error {
		if tries++; tries > 1 {
			return errors.New("the server ended the wrong side of the deadlock")
		}
		if _, err := tx.Exec(ctx, "INSERT INTO ballast SELECT seq FROM seq_1_to_20000"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, lockRow, c.last); err != nil {
			return err
		}
		c.other()
		if err := c.awaited(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, lockRow, c.first); err != nil {
			return err
		}
		return errDone
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

const lockRow = "SELECT id FROM asset WHERE id = ? FOR UPDATE"

// errDone rolls back: nothing of the ballast is to stay.
var errDone = errors.New("done")

// awaited waits until somebody waits for the transaction. The server renews
// what it tells of that only when nobody has asked for 100 ms.
func (c crossing) awaited(ctx context.Context, tx *db.Tx) error {
	for until := time.Now().Add(testproc.AnswersIn); time.Now().Before(until); time.Sleep(150 * time.Millisecond) {
		var n int
		err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM information_schema.innodb_lock_waits w
			JOIN information_schema.innodb_trx t ON t.trx_id = w.blocking_trx_id WHERE t.trx_mysql_thread_id = CONNECTION_ID()`).Scan(&n)
		if err != nil || n > 0 {
			return err
		}
	}
	return fmt.Errorf("nobody came to wait for the row within %s", testproc.AnswersIn)
}
