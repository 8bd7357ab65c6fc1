package asset_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

func nextTo(token, other string, after bool) *asset.Command {
	c := update(token)
	c.Changes = []asset.Change{{Name: "Order", Neighbour: &asset.Value{Kind: asset.Text, Text: other}, After: after}}
	return c
}

func story(name string) *asset.Command {
	return create("Story", "@"+name, "Name", name, "Scope", "Scope:0")
}

// rankOf returns the rank of an asset as clients read it.
func (w *harness) rankOf(token string) string {
	return strings.TrimSpace(w.rows(`SELECT order_key FROM asset WHERE id = ?`, id(token)))
}

const storyOrder = `SELECT name FROM asset WHERE type IN (4, 5) ORDER BY order_key`

// fit checks that clients can store every current and earlier rank, and that no two stories or
// defects have the same rank now.
func (w *harness) fit() {
	w.t.Helper()
	w.expect("0\n", `SELECT COUNT(*) FROM asset WHERE order_key < 1 OR order_key > 2147483647`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset_version WHERE order_key < 1 OR order_key > 2147483647`)
	w.expect("0\n", `SELECT COUNT(*) FROM (SELECT order_key FROM asset WHERE type IN (4, 5) GROUP BY order_key HAVING COUNT(*) > 1) x`)
	w.consistent()
}

func TestRankBeforeAndAfter(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		s := w.must(story("a"), story("b"), story("c"), create("Defect", "@d", "Name", "d", "Scope", "Scope:0"))
		w.must(nextTo(s[3], s[0], false))
		w.expect("d\na\nb\nc\n", storyOrder)
		w.must(nextTo(s[0], s[2], true), nextTo(s[2], s[1], false))
		w.expect("d\nc\nb\na\n", storyOrder)
		var again []*asset.Command
		for range 30 { // enough moves that there is no room left, and neighbours get new ranks
			again = append(again, nextTo(s[0], s[2], false), nextTo(s[3], s[2], false))
		}
		w.must(again...)
		w.expect("a\nd\nc\nb\n", storyOrder)
		w.fit()
		e := w.must(create("Epic", "@e", "Name", "e", "Scope", "Scope:0"))[0]
		if got := w.fails(nextTo(s[0], e, true)); got != "Violation'Invalid'Story.Order" {
			t.Error(got)
		}
		made := story("f")
		made.Changes = append(made.Changes, nextTo(s[0], s[3], true).Changes...)
		w.must(made)
		w.expect("a\nd\nf\nc\nb\n", storyOrder)
	})
}

// A request may rank any number of assets next to one asset, or each next to the one before it. Few
// other assets then get new ranks, because each move uses up one number. If it used up half of the
// numbers that are left, most moves would give new ranks to many others.
func TestManyAreRankedNextToOne(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		const n = 400
		var made []*asset.Command
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("s%03d", i))
			made = append(made, story(names[i]))
		}
		s := w.must(made...)
		moved, target := names[:n/2], names[n-1]
		backward := slices.Clone(moved)
		slices.Reverse(backward)

		for _, c := range []struct {
			move  func(i int) *asset.Command
			order []string // these stories follow each other directly
		}{
			{func(i int) *asset.Command { return nextTo(s[i], s[n-1], true) }, append([]string{target}, backward...)},
			{func(i int) *asset.Command { return nextTo(s[i], s[n-1], false) }, append(slices.Clone(moved), target)},
			{func(i int) *asset.Command { return nextTo(s[i+1], s[i], true) }, names[:n/2+1]},
		} {
			before := w.versions()
			var all []*asset.Command
			for i := range moved {
				all = append(all, c.move(i))
			}
			w.must(all...)
			if others := w.versions() - before - len(moved); others > n {
				t.Errorf("%d other assets have got new ranks", others)
			}
			if got := w.rows(storyOrder); !strings.Contains(got, strings.Join(c.order, "\n")+"\n") {
				t.Errorf("the stories are in the order %q", got)
			}
			w.fit()
		}
	})
}

// versions returns the number of versions of all assets.
func (w *harness) versions() int {
	n, _ := strconv.Atoi(strings.TrimSpace(w.rows(`SELECT COUNT(*) FROM asset_version`)))
	return n
}

// If a command moves an asset to the place where it already is, the asset gets no new version.
func TestRankInPlace(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		s := w.must(story("a"), story("b"), story("c"))
		a, b, c := w.rankOf(s[0]), w.rankOf(s[1]), w.rankOf(s[2])
		for _, x := range []*asset.Command{
			nextTo(s[1], s[0], true), nextTo(s[1], s[2], false), nextTo(s[2], s[1], true), nextTo(s[0], s[1], false), nextTo(s[1], s[1], true),
			update(s[1], "Order", a+"+"), update(s[1], "Order", c+"-"), update(s[1], "Order", b+"+"), update(s[1], "Order", b+"-"),
			update(s[1], "Order", b), update(s[2], "Order", "2147483647+"), update(s[0], "Order", a+"-"), update(s[0], "Order", "1-"),
		} {
			w.must(x)
		}
		w.expect("3\n", `SELECT COUNT(*) FROM asset_version WHERE id > 1000`)
		w.must(update(s[0], "Order", "2147483647-"))
		w.expect("b\nc\na\n", storyOrder)
		w.must(update(s[2], "Order", "1+"), create("Story", "@d", "Name", "d", "Scope", "Scope:0", "Order", ""))
		w.expect("c\nb\na\nd\n", storyOrder)
		w.fit()
	})
}

// Commands run one after another. A relative rank, such as 100+, means the place next to that
// number, even if an earlier command has moved the asset that had the rank.
func TestRankNextToNumbers(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		s := w.must(story("a"), story("b"), story("c"), story("d"))
		a, c := w.rankOf(s[0]), w.rankOf(s[2])
		w.must(update(s[3], "Order", a+"-"), update(s[0], "Order", c+"+"), update(s[1], "Order", a+"-"))
		w.expect("d\nb\nc\na\n", storyOrder)
		w.must(create("Story", "@e", "Name", "e", "Scope", "Scope:0", "Order", c+"-"))
		w.expect("d\nb\ne\nc\na\n", storyOrder)
		for _, bad := range []string{"+", "-", "x+", "99999999999+", "-5-", "0+", "2147483648-", "1.5+", "1 +", "1+-", "5", "-1", "", "null"} {
			if got := w.fails(update(s[0], "Order", bad)); got != "Violation'Invalid'Story.Order" {
				t.Errorf("%q: %s", bad, got)
			}
		}
		w.fit()
	})
}

// Assets are moved to places where the engine soon has no free rank. The order must be the same
// as the order of a slice with the same moves.
func TestRankedAtTheWorstPlaces(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		rounds := 4000
		if w.d.Dialect.SmallInside { // fewer rounds on a database server, because it is slower than SQLite
			rounds = 400
		}
		if testing.Short() {
			rounds /= 4
		}
		var commands []*asset.Command
		for i := range 150 {
			commands = append(commands, story(fmt.Sprint("s", i)))
		}
		s := w.must(commands...)
		order := slices.Clone(s)
		g := rand.New(rand.NewPCG(1, 2))
		for round := range rounds / 10 {
			if round == rounds/20 { // the sequence continues in the upper half of the ranks
				w.exec(`UPDATE sequence SET value = ? WHERE name LIKE 'rank:%'`, int64(1)<<30+64)
			}
			commands = commands[:0]
			for range 10 {
				c, moved := worst(g, round, order)
				commands, order = append(commands, c), moved
			}
			w.must(commands...)
		}
		names := w.rows(`SELECT id FROM asset WHERE type = 4 ORDER BY order_key`)
		var want strings.Builder
		for _, token := range order {
			fmt.Fprintln(&want, id(token))
		}
		if names != want.String() {
			t.Errorf("order is\n%s, want\n%s", names, want.String())
		}
		w.fit()
	})
}

func (w *harness) exec(query string, args ...any) {
	w.t.Helper()
	err := w.d.Write(w.t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(w.t.Context(), query, args...)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// worst returns a command that moves a random asset, and the order after the move. The place is
// the first, the last, the middle or a random place, in turn by round.
func worst(g *rand.Rand, round int, order []string) (*asset.Command, []string) {
	i := g.IntN(len(order))
	me := order[i]
	rest := slices.Delete(slices.Clone(order), i, i+1)
	at := [...]int{0, len(rest), len(rest) / 2, g.IntN(len(rest) + 1)}[round%4]
	moved := slices.Insert(slices.Clone(rest), at, me)
	if at == len(rest) || at > 0 && g.IntN(2) == 0 {
		return nextTo(me, rest[at-1], true), moved
	}
	return nextTo(me, rest[at], false), moved
}

// Moves at the end of the possible ranks never use a rank above rank.Max.
func TestRankAtTheEnd(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		s := w.must(story("a"), story("b"), story("c"))
		top := int64(1)<<30 + (int64(1)<<30-12)*8 // a value of the sequence after which two ranks are left
		w.exec(`UPDATE sequence SET value = ? WHERE name = 'rank:PrimaryWorkitem'`, top)
		d := w.must(story("d"), story("e"))
		if got, _ := strconv.ParseInt(w.rankOf(d[1]), 10, 64); got < 2147483640 {
			t.Errorf("the last rank is %d", got)
		}
		for i := range 40 { // moves to the end, where the sequence has no rank left
			w.must(nextTo(s[i%3], d[1], true), nextTo(d[0], s[i%3], true))
		}
		w.fit()
		w.expect("e\n", `SELECT name FROM asset WHERE type = 4 ORDER BY order_key LIMIT 1`)
	})
}

func TestConcurrentRanks(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		var commands []*asset.Command
		for i := range 40 {
			commands = append(commands, story(fmt.Sprint("s", i)))
		}
		s := w.must(commands...)
		other := &harness{t: t, d: w.d, e: asset.New(w.d, model, logins{}, nil)} // like another process
		for range 4 {
			var wait sync.WaitGroup
			for k, on := range []*harness{w, other} {
				wait.Go(func() {
					on.together(8, func(i int) []*asset.Command {
						i += 8 * k
						return []*asset.Command{nextTo(s[i], s[39], i%2 == 0), story(fmt.Sprint("n", i)), nextTo(s[i+16], s[38], true)}
					})
				})
			}
			wait.Wait()
		}
		w.expect("104\n", `SELECT COUNT(*) FROM asset WHERE type = 4`)
		w.fit()
	})
}
