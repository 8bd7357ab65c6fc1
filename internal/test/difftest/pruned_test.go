package difftest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/operate/dump"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
)

// TestDifferenceAfterPruning removes old versions up to a moment, the horizon, while assets change. The
// evaluator keeps all versions. The answers of both databases must be those of the evaluator: about the
// current state, about every moment from the horizon on, and about all versions since the horizon.
func TestDifferenceAfterPruning(t *testing.T) {
	seed, rounds, questions := testseed.New(t), 4, 60
	if testing.Short() {
		rounds, questions = 2, 25
	}
	m := grown()
	r := &run{T: t, Rand: rand.New(rand.NewPCG(seed, 7)), m: m}
	r.grow = newGrower(r.Rand, m)
	r.servers = []*server{serve(t, testdb.MySQL(t), m), serve(t, testdb.SQLite(t), m)}
	r.write(r.founding())
	var all *world
	for range rounds {
		for range 4 {
			r.write(r.grow.request(5 + r.IntN(25)))
		}
		r.look()
		all = merge(all, r.w)
		r.w = all
		before := r.count("asset_version")
		horizon := r.prune()
		r.Logf("horizon %d of %d: %d of %d versions left", horizon, r.w.last(), r.count("asset_version"), before)
		r.w.horizon = horizon
		r.askPruned(questions)
	}
	for _, s := range r.servers {
		r.sound(s)
	}
	if r.asked == r.empty {
		r.Error("no question has an answer")
	}
}

func (r *run) count(table string) int64 {
	return whole(rows(r, r.servers[0].d, "SELECT COUNT(*) FROM "+table, 1)[0][0])
}

// prune moves the horizon of both databases to the same later moment, and returns that moment.
func (r *run) prune() int64 {
	r.Helper()
	later := slices.DeleteFunc(slices.Clone(r.w.stamps), func(s [2]int64) bool { return s[0] <= r.w.horizon })
	to := later[r.IntN(len(later))][0]
	for _, s := range r.servers {
		if _, err := s.d.Exec(context.Background(), "UPDATE audit SET fan_state = 1"); err != nil {
			r.Fatal(err)
		}
		log := feed.NewLog(s.d, nil)
		// The clock of the database stands still. Otherwise it would reach the next stamp if the test is slow.
		usual, still := s.d.Dialect, *s.d.Dialect
		still.NowMicros = strconv.FormatInt(instant(instantOf(to))+time.Hour.Microseconds(), 10)
		s.d.Dialect = &still
		p := history.New(s.d, history.Options{
			Keep:     time.Hour - 500*time.Millisecond,
			Model:    func() *meta.Model { return r.m },
			Position: log.AdvanceSome,
		})
		if err := p.Run(context.Background()); err != nil {
			r.Fatalf("%s: %v", s.name, err)
		}
		s.d.Dialect = usual
		h, err := history.Of(context.Background(), s.d)
		if err != nil || h.Moment != to || h.Since() != instantOf(to)[:19]+".000Z" {
			r.Fatalf("%s: the horizon is %+v (%s), want %d: %v", s.name, h, h.Since(), to, err)
		}
	}
	return to
}

// askPruned compares queries about all times. Queries about a time before the horizon must be refused.
func (r *run) askPruned(n int) {
	r.Helper()
	for range n {
		a, who := r.question()
		if a.AsOf == "" && r.IntN(2) == 0 {
			a.AsOf = instantOf(r.w.horizon + r.Int64N(r.w.last()-r.w.horizon+1))
		}
		if a.AsOf == "" || a.AsOf == "All" || instant(a.AsOf) >= instant(instantOf(r.w.horizon)) {
			r.compare(a, who)
			continue
		}
		for _, s := range r.servers {
			if got, err := s.rows(who, a.String()); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "History is kept from ") {
				r.Errorf("%s: as of %s, before the horizon %s: %.200s %v", s.name, a.AsOf, instantOf(r.w.horizon), got, err)
			}
		}
	}
	for range n / 10 {
		r.moments()
	}
}

// merge adds to the world now everything that was removed since the earlier world old, and returns the
// world now.
func merge(old, now *world) *world {
	if old == nil {
		return now
	}
	for id, versions := range old.versions {
		for _, v := range versions {
			if !slices.ContainsFunc(now.versions[id], func(x *version) bool { return x.moment == v.moment }) {
				now.versions[id] = append(now.versions[id], v)
			}
		}
		slices.SortFunc(now.versions[id], func(a, b *version) int { return cmp.Compare(a.moment, b.moment) })
	}
	edges := func(now, old []pair) []pair {
		for _, p := range old {
			if !slices.ContainsFunc(now, func(x pair) bool {
				return x.code == p.code && x.from == p.from && x.to == p.to && x.value == p.value && x.since == p.since
			}) {
				now = append(now, p)
			}
		}
		return now
	}
	now.links, now.values = edges(now.links, old.links), edges(now.values, old.values)
	for id, comment := range old.comments {
		now.comments[id] = comment
	}
	stamps := slices.Concat(old.stamps, now.stamps)
	slices.SortFunc(stamps, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	now.stamps = slices.Compact(stamps)
	now.horizon = old.horizon
	return now
}

// sound checks that the command check finds nothing. It also restores an export of the database into
// another database. An export of this second database must have the same bytes as the first export.
func (r *run) sound(s *server) {
	r.Helper()
	const at = `COALESCE((SELECT at FROM moment_stamp s WHERE s.last_moment >= moment ORDER BY s.last_moment LIMIT 1), changed_at)`
	// align has set a time for each moment. An export contains only the times of moment_stamp, so each row
	// gets the time of its stamp.
	for _, table := range []string{"asset", "asset_version"} {
		if _, err := s.d.Exec(context.Background(), "UPDATE "+table+" SET changed_at = "+at); err != nil {
			r.Fatal(err)
		}
	}
	found, err := check.Run(context.Background(), s.d, r.m)
	for _, f := range found {
		r.Errorf("%s: %s", s.name, f)
	}
	if err != nil {
		r.Fatal(err)
	}
	var first, again bytes.Buffer
	none := func(string, int64) {}
	if _, err := dump.Write(context.Background(), s.d, &first, "test", none); err != nil {
		r.Fatal(err)
	}
	d, err := db.Open(context.Background(), testdb.EmptyURL(r, "sqlite"), db.Options{MaxConns: 2})
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Migrate(context.Background()); err != nil {
		r.Fatal(err)
	}
	if _, err := dump.Read(context.Background(), d, bytes.NewReader(first.Bytes()), none); err != nil {
		r.Fatal(fmt.Errorf("%s: restore: %w", s.name, err))
	}
	if _, err := dump.Write(context.Background(), d, &again, "test", none); err != nil {
		r.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), again.Bytes()) {
		r.Errorf("%s: what was restored is exported otherwise", s.name)
	}
	if left, err := check.Run(context.Background(), d, r.m); err != nil || len(left) > 0 {
		r.Errorf("%s, restored: %v %v", s.name, left, err)
	}
}
