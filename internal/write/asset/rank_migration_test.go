package asset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/write/seed"
	schema "github.com/alds-dev/alds/sql"
)

// spaces returns the codes of types, in one comma-separated text for each rank space.
func spaces() []string {
	var all []string
	bySpace := map[string][]string{}
	for _, name := range []string{"Story", "Defect", "Task", "Test", "Epic", "StoryStatus", "TaskStatus"} {
		t, _ := model.Type(name)
		bySpace[t.RankSpace] = append(bySpace[t.RankSpace], fmt.Sprint(t.Code))
	}
	for _, codes := range bySpace {
		all = append(all, strings.Join(codes, ", "))
	}
	return all
}

// sequences returns the ids of the assets of each rank space in the order of their ranks, now and
// at every moment.
func (w *harness) sequences() map[string]string {
	all := map[string]string{}
	for _, codes := range spaces() {
		all[codes+" now"] = w.rows(`SELECT id FROM asset WHERE type IN (` + codes + `) ORDER BY order_key, id`)
		for moment := range strings.Lines(w.rows(`SELECT moment FROM asset_version WHERE type IN (` + codes + `) ORDER BY moment`)) {
			m := strings.TrimSpace(moment)
			all[codes+" at "+m] = w.rows(`SELECT id FROM asset_version WHERE type IN (` + codes + `) AND moment <= ` + m + ` AND until_moment > ` + m + ` ORDER BY order_key, id`)
		}
	}
	return all
}

// old converts the ranks of all assets, except well-known ones, to the ranks of an earlier release:
// large numbers with large gaps. If negative is true, the first ranks are below zero.
func (w *harness) old(negative bool) {
	from := int64(1) << 24
	if negative {
		from += 100
	}
	for _, table := range []string{"asset", "asset_version"} {
		w.exec(`UPDATE `+table+` SET order_key = (order_key - CASE WHEN order_key < 1048576 THEN 0 ELSE ? END) * 67108864 + 3
			WHERE order_key IS NOT NULL AND id > 1000`, from)
	}
	w.exec(`DELETE FROM sequence WHERE name LIKE 'rank:%'`)
}

// migrateRanks runs the migrations of ranks. It runs each statement twice, because a process may
// end before it has recorded that the statement ran.
func (w *harness) migrateRanks() {
	w.t.Helper()
	steps, err := schema.Migrations(w.d.Dialect.Name)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range steps {
		if s.Version >= 70 && s.Version <= 74 {
			w.exec(s.Text)
			w.exec(s.Text)
		}
	}
}

// filled creates assets of several rank spaces and moves them several times. It returns the Oids of
// all except the task and the test.
func (w *harness) filled() []string {
	s := w.must(story("a"), story("b"), create("Defect", "@c", "Name", "c", "Scope", "Scope:0"), create("Epic", "@e", "Name", "e", "Scope", "Scope:0"),
		create("StoryStatus", "@n", "Name", "new"), create("StoryStatus", "@o", "Name", "newer"))
	tasks := w.must(create("Task", "@t", "Name", "t", "Parent", s[0]), create("Test", "@u", "Name", "u", "Parent", s[1]))
	w.must(nextTo(s[2], s[0], false), nextTo(s[0], s[1], true), nextTo(s[2], s[0], true), nextTo(s[1], s[2], true), nextTo(tasks[1], tasks[0], false),
		nextTo(s[5], s[4], false))
	for range 5 {
		w.must(nextTo(s[0], s[1], false), nextTo(s[2], s[1], false), nextTo(s[0], s[1], false), nextTo(s[2], s[1], false))
	}
	return s
}

func TestRanksAreMigrated(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		for _, negative := range []bool{false, true} {
			s := w.filled()
			w.old(negative)
			before := w.sequences()
			if w.rows(`SELECT COUNT(*) FROM asset_version WHERE order_key > 2147483647`) == "0\n" {
				t.Error("no rank was too great before")
			}
			w.migrateRanks()
			if diff := cmp.Diff(before, w.sequences()); diff != "" {
				t.Errorf("order (-before +after):\n%s", diff)
			}
			w.fit()
			w.must(story("z"), create("StoryStatus", "@z", "Name", fmt.Sprint("z", negative)))
			w.expect("z\n", `SELECT name FROM asset WHERE type IN (4, 5) ORDER BY order_key DESC LIMIT 1`)
			w.expect(fmt.Sprintf("z%v\n", negative), `SELECT name FROM asset WHERE type = (SELECT type FROM asset WHERE id = ?) ORDER BY order_key DESC LIMIT 1`, id(s[4]))
			w.must(nextTo(s[0], s[2], false), update(s[1], "Order", "1-"))
		}
	})
}

// The migrations do not change the ranks of well-known assets, because the model defines them.
func TestRanksOfWellKnownAssetsStay(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.must(create("StoryStatus", "@n", "Name", "new"))
		want := w.rows(`SELECT id, order_key FROM asset WHERE id BETWEEN 0 AND 1000 AND order_key IS NOT NULL ORDER BY id`)
		w.old(false)
		w.migrateRanks()
		w.expect(want, `SELECT id, order_key FROM asset WHERE id BETWEEN 0 AND 1000 AND order_key IS NOT NULL ORDER BY id`)
		if err := seed.Run(t.Context(), w.d, model); err != nil {
			t.Error(err)
		}
	})
}
