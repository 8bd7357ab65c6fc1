package change

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// insert writes rows into a table. Each row maps columns to values.
func insert(t *testing.T, d *db.DB, table string, rows ...map[string]any) {
	t.Helper()
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		for _, row := range rows {
			var columns []string
			var values []any
			for c, v := range row {
				columns, values = append(columns, c), append(values, v)
			}
			if err := db.Insert(context.Background(), tx, table, columns, [][]any{values}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func row(code int, id, moment, until, audit, created int64, linked int, name string) map[string]any {
	return map[string]any{
		"id": id, "type": code, "state": 64, "moment": moment, "until_moment": until, "audit_id": audit,
		"created_moment": created, "created_at": 0, "created_by": 20, "changed_at": 0, "changed_by": 20,
		"linked": linked, "name": name,
	}
}

func link(relation, fromType int, from, to, since, until int64) map[string]any {
	return map[string]any{
		"relation": relation, "from_type": fromType, "from_id": from, "to_id": to, "since_moment": since, "until_moment": until,
	}
}

func TestDiffOfLoadedSteps(t *testing.T) {
	story, member := typ(t, "Story"), typ(t, "Member")
	owners, tags := attr(t, story, "Owners"), attr(t, story, "TaggedWith")
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		insert(t, d, "asset_version",
			row(story.Code, 1005, 1001, 1003, 1, 1001, 0, "a"),       // created by write 1
			row(story.Code, 1005, 1003, 1004, 2, 1001, 1, "b"),       // renamed, and an owner and a tag added
			row(story.Code, 1005, 1004, db.Forever, 2, 1001, 1, "b"), // an owner replaced, by the same write
			row(member.Code, 30, 1002, 1005, 1, 1002, 0, "m"),
			row(member.Code, 30, 1005, db.Forever, 2, 1002, 1, "m"), // became an owner of the story
			row(story.Code, 1006, 1006, db.Forever, 3, 1006, 0, "of another write"),
		)
		insert(t, d, "asset_link",
			link(owners.Place.Code, story.Code, 1005, 31, 1003, 1004),
			link(owners.Place.Code, story.Code, 1005, 32, 1004, db.Forever),
			link(owners.Place.Code, story.Code, 1005, 30, 1005, db.Forever),
		)
		insert(t, d, "asset_value", map[string]any{
			"attribute": tags.Place.Code, "from_type": story.Code, "from_id": 1005, "value": "red", "folded": "red",
			"since_moment": 1003, "until_moment": db.Forever,
		})
		differ := NewDiffer(model)
		l := NewLoader(differ)
		versions, _, err := l.Versions(t.Context(), d, []Audit{{ID: 1, First: 1001, Last: 1002}, {ID: 2, First: 1003, Last: 1005}}, 100)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := l.Steps(t.Context(), d, versions)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"AssetState Set - -> 64\nName Set - -> a",
			"AssetState Set - -> 64\nName Set - -> m",
			"Name Set a -> b\nOwners Added - -> 31\nTaggedWith Added - -> red",
			"Owners Added - -> 32\nOwners Removed 31 -> -",
			"OwnedWorkitems Added - -> 1005",
		}
		var got []string
		for i := range steps {
			changes, err := differ.Diff(&steps[i])
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, show(changes))
		}
		for i := range got {
			if diff := cmp.Diff(sorted(lines(want[i])), sorted(lines(got[i]))); diff != "" {
				t.Errorf("step %d: %s", i, diff)
			}
		}
	})
}

// TestVersionsAreReadInParts checks that one call of Versions returns at most MaxBytes, plus one
// version.
func TestVersionsAreReadInParts(t *testing.T) {
	story := typ(t, "Story")
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		const parts = 4
		for i := range int64(2 * parts) {
			long := row(story.Code, 2000+i, 1001+i, 1101+i, 1, 1001+i, 0, "a")
			long["description"] = strings.Repeat("x", MaxBytes/parts)
			insert(t, d, "asset_version", long, row(story.Code, 2000+i, 1101+i, db.Forever, 2, 1001+i, 0, "b"))
		}
		l := NewLoader(NewDiffer(model))
		long, more, err := l.Versions(t.Context(), d, []Audit{{ID: 1, First: 1001, Last: 1100}}, 100)
		if err != nil || !more || len(long) > parts+1 {
			t.Errorf("long versions: %d, more %v, %v", len(long), more, err)
		}
		short, more, err := l.Versions(t.Context(), d, []Audit{{ID: 2, First: 1101, Last: 1200}}, 100)
		if err != nil || more || len(short) != 2*parts {
			t.Errorf("short versions: %d, more %v, %v", len(short), more, err)
		}
		if _, err := l.Steps(t.Context(), d, short); !errors.Is(err, ErrTooLarge) {
			t.Errorf("all with those before: %v", err)
		}
		if steps, err := l.Steps(t.Context(), d, short[:1]); err != nil || len(steps) != 1 {
			t.Errorf("one with that before: %v", err)
		}
	})
}

func TestAMissingPreviousVersionIsReported(t *testing.T) {
	story := typ(t, "Story")
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		insert(t, d, "asset_version", row(story.Code, 1005, 1003, db.Forever, 2, 1001, 0, "b"))
		l := NewLoader(NewDiffer(model))
		versions, _, err := l.Versions(t.Context(), d, []Audit{{ID: 2, First: 1003, Last: 1003}}, 100)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Steps(t.Context(), d, versions); err == nil {
			t.Error("no error")
		}
	})
}
