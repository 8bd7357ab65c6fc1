package catalog_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Judged(m) }

// The codes of the asset types whose assets describe the model.
const (
	assetType  = 120
	simple     = 122
	oneToMany  = 124
	manyToMany = 126
)

var base = meta.Default()

// definitions is a database with rows of the model.
type definitions struct {
	*testing.T
	d *db.DB
}

func each(t *testing.T, test func(t definitions)) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		x := definitions{t, d}
		for id, name := range map[int64]string{-1: "List", -2: "Story", -3: "Member", -4: "Workitem"} {
			x.row(id, assetType, name, 0, 0, "")
		}
		test(x)
	})
}

// write runs a transaction that changes the model.
func (t definitions) write(fn func(tx *db.Tx) error) {
	t.Helper()
	err := t.d.Write(t.Context(), func(tx *db.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return catalog.Raise(t.Context(), tx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// row inserts a row of the model. If on or related is 0, the row has no such value.
func (t definitions) row(id int64, typ int, name string, on, related int64, attrs string) {
	t.Helper()
	null := func(id int64) any {
		if id == 0 {
			return nil
		}
		return id
	}
	if attrs == "" {
		attrs = "{}"
	}
	t.write(func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO asset (id, type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by,
			name, parent_id, category_id, order_key, attrs) VALUES (?, ?, 64, 1, 0, 1, 0, 20, 0, 20, ?, ?, ?, ?, ?)`, id, typ, name, null(on), null(related), id, attrs)
		return err
	})
}

func (t definitions) state(id int64, state int) {
	t.Helper()
	t.write(func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE asset SET state = ? WHERE id = ?`, state, id)
		return err
	})
}

func (t definitions) refreshed(c *catalog.Catalog) *meta.Model {
	t.Helper()
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.Present().Model
}

func attr(m *meta.Model, typ, name string) *meta.Attr {
	t, _ := m.Type(typ)
	a, _ := t.Attr(name)
	return a
}

// Rows become types and attributes of the model. A row that is closed or deleted disappears from
// the model.
func TestRowsBecomeTheModel(t *testing.T) {
	each(t, func(t definitions) {
		t.row(5001, assetType, "Custom_OriginType", -1, 0, `{"DisplayName": "Origin", "Code": 10000, "IsCustom": true}`)
		t.row(5002, simple, "Custom_Weight", -4, 0, `{"AttributeType": "Numeric", "DisplayName": "Weight", "IsRequired": true}`)
		t.row(5003, simple, "Custom_Due", -2, 0, `{"AttributeType": "Date", "IsDateOnly": true}`)
		t.row(5004, oneToMany, "Custom_Origin", -2, 5001, `{"AttributeType": "Relation", "ReverseName": "Custom_Stories", "Code": 10000}`)
		t.row(5005, manyToMany, "Custom_Reviewers", -4, -3, `{"Code": 10001}`)
		t.row(5006, simple, "Custom_Broken", -2, 0, `{"AttributeType": "Colour", "Code": "x"}`)
		c := catalog.New(t.d, base, catalog.Options{})
		m := t.refreshed(c)
		if a := attr(m, "Task", "Custom_Weight"); a == nil || a.Kind != meta.Numeric || !a.Required || a.Display != "Weight" || a.Definition != 5002 {
			t.Errorf("Task.Custom_Weight is %+v", a)
		}
		if a := attr(m, "Story", "Custom_Due"); a == nil || a.Kind != meta.Date || !a.DateOnly {
			t.Errorf("Story.Custom_Due is %+v", a)
		}
		if a := attr(m, "Story", "Custom_Origin"); a == nil || !a.ToOne() || a.Related.Code != 10000 || a.Back == nil || a.Related.DisplayNames["Scrum"] != "Origin" {
			t.Errorf("Story.Custom_Origin is %+v", a)
		}
		if a := attr(m, "Test", "Custom_Reviewers"); a == nil || !a.ToMany() || a.Related.Name != "Member" || a.Place.Code != 10001 {
			t.Errorf("Test.Custom_Reviewers is %+v", a)
		}
		if a := attr(m, "Story", "Custom_Broken"); a != nil {
			t.Errorf("what no attribute can be is %+v", a)
		}
		for _, state := range []int{meta.StateClosed, meta.StateDeleted} {
			t.state(5002, state)
			if attr(t.refreshed(c), "Task", "Custom_Weight") != nil {
				t.Errorf("found in state %d", state)
			}
		}
		t.state(5002, meta.StateActive)
		if attr(t.refreshed(c), "Task", "Custom_Weight") == nil {
			t.Error("does not come back")
		}
		if attr(base, "Task", "Custom_Weight") != nil {
			t.Error("the model of the program has changed")
		}
	})
}

// A model is read once per generation. When Refresh returns, each concurrent caller has the new
// model.
func TestRefreshReadsOnce(t *testing.T) {
	each(t, func(t definitions) {
		var told []int64
		c := catalog.New(t.d, base, catalog.Options{OnChange: func(p catalog.Present) { told = append(told, p.Generation) }})
		t.refreshed(c)
		t.row(5001, simple, "Custom_A", -2, 0, `{"AttributeType": "Text"}`)
		old := c.Present().Generation
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				do := c.Refresh
				if i%2 == 0 {
					do = func(ctx context.Context) error { return c.Pass(ctx, old) }
				}
				if err := do(t.Context()); err != nil || attr(c.Present().Model, "Story", "Custom_A") == nil {
					t.Errorf("the model is not the present one: %v", err)
				}
			})
		}
		all.Wait()
		if t.refreshed(c); len(told) != 2 || told[1] != c.Present().Generation {
			t.Errorf("told of %v", told)
		}
	})
}

// A change of another process arrives within two seconds.
func TestRunFollows(t *testing.T) {
	each(t, func(t definitions) {
		changed := make(chan catalog.Present, 10)
		c := catalog.New(t.d, base, catalog.Options{OnChange: func(p catalog.Present) { changed <- p }})
		t.refreshed(c)
		<-changed
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		t.row(5001, simple, "Custom_A", -2, 0, `{"AttributeType": "Text"}`)
		select {
		case p := <-changed:
			if attr(p.Model, "Story", "Custom_A") == nil {
				t.Error("another model")
			}
		case <-time.After(time.Minute):
			t.Error("not seen")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestTracking checks that every catalog reads the tracking levels together with the next model, and that
// an unknown value is ignored.
func TestTracking(t *testing.T) {
	each(t, func(t definitions) {
		here, there := catalog.New(t.d, base, catalog.Options{}), catalog.New(t.d, base, catalog.Options{})
		want := func(story, defect catalog.Level) {
			t.Helper()
			for _, c := range []*catalog.Catalog{here, there} {
				t.refreshed(c)
				if got := c.Present().Tracking; got != (catalog.Tracking{Story: story, Defect: defect}) {
					t.Errorf("%v, want %s and %s", got, story, defect)
				}
			}
		}
		set := func(story, defect catalog.Level) (changed []string) {
			t.Helper()
			err := t.d.Write(t.Context(), func(tx *db.Tx) (err error) {
				changed, err = catalog.StoreTracking(t.Context(), tx, catalog.Tracking{Story: story, Defect: defect})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return changed
		}
		want(catalog.Mix, catalog.Mix)
		before := here.Present().Generation
		if changed := set(catalog.Mix, catalog.Mix); changed != nil {
			t.Errorf("%v changed", changed)
		}
		want(catalog.Mix, catalog.Mix)
		if here.Present().Generation != before {
			t.Error("nothing was changed, and the generation was raised")
		}
		if changed := set(catalog.On, catalog.Mix); len(changed) != 1 || changed[0] != catalog.StoryTracking {
			t.Errorf("%v changed", changed)
		}
		want(catalog.On, catalog.Mix)
		set(catalog.Off, catalog.Off)
		want(catalog.Off, catalog.Off)
		t.write(func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE setting SET value = 'Half' WHERE name = ?`, catalog.StoryTracking)
			return err
		})
		want(catalog.Mix, catalog.Off)
	})
}
