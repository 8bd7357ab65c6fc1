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

// chance returns the source of a test's random choices, and the seed. It also logs the seed.
func chance(t *testing.T) (*rand.Rand, uint64) {
	t.Helper()
	seed := *faultSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-faultseed %d", seed)
	return rand.New(rand.NewPCG(seed, 3)), seed
}

// together lets a test run in parallel with others, but only with -short, when tests mostly wait. Without
// -short the test runs alone, because it fails if something takes too long.
func together(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Parallel()
	}
}

// depth returns short with -short, and long otherwise.
func depth(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}

// late says that a kill came too late, so that the test tested nothing. That depends on the machine. With
// -short late only logs this, otherwise it fails the test.
func late(t *testing.T, what string) {
	t.Helper()
	if testing.Short() {
		t.Log(what)
		return
	}
	t.Error(what)
}

// manyFaults returns how many random faults happen in a test.
func manyFaults() int { return cmp.Or(*faults, depth(5, 12)) }

// breakage is one kind of fault. weight says how often it happens, compared with other kinds. strike causes
// it.
type breakage struct {
	name   string
	weight int
	strike func()
}

// often is the weight of a fault that should happen at least once in every run.
const often = 3

// strikeAll causes n faults, in random order and at random times. Each kind of fault happens about as often
// as its weight says. If n is large enough, each kind happens at least once; if not, kinds with a high
// weight are preferred.
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

// databaseFaults returns the faults that make the database unavailable. Deadlocks are not among them.
func (s *site) databaseFaults() []breakage {
	return []breakage{
		{"connections killed", 2, s.cut},
		{"MariaDB killed", 2, func() { s.mariadb.Kill(); s.mariadb.Start() }},
		{"MariaDB restarted", 1, func() { s.mariadb.Stop(); s.mariadb.Start() }},
	}
}

// cut kills the database connections of all processes.
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
		_, _ = s.db.Exec(s.t.Context(), fmt.Sprintf("KILL %d", id)) // the connection may have ended already
	}
}

// emptyRedis executes FLUSHALL.
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

// crossing makes two transactions run into a deadlock: one of its own and another one.
type crossing struct {
	s           *site
	first, last int64  // ids of two rows that both transactions lock
	other       func() // starts the other transaction, which locks the row c.first before the row c.last
}

// deadlock locks the row c.last and starts the other transaction, which locks the row c.first and then
// waits for the row c.last. Then deadlock locks the row c.first. Of the two transactions, the server rolls
// back the one that has written less. So deadlock writes many rows before it locks any.
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

// errDone makes the transaction roll back, so that its rows are not stored.
var errDone = errors.New("done")

// awaited waits until another transaction waits for a row that tx has locked. It polls slowly: the server
// updates this information only after nobody has read it for 100 ms.
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
