package asset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/requests"
)

// extended returns the model with a custom list and some custom attributes.
func extended(t testing.TB) *meta.Model {
	t.Helper()
	m, err := model.Extend(meta.Custom{
		Lists: []meta.CustomList{{ID: 5000, Name: "Custom_OriginType", Code: 10000}},
		Attributes: []meta.CustomAttribute{
			{ID: 5001, Type: "Story", Name: "Custom_Text", Kind: meta.Text},
			{ID: 5002, Type: "Story", Name: "Custom_Origin", Kind: meta.Relation, To: "Custom_OriginType", Back: "Custom_Stories", Code: 10000},
			{ID: 5003, Type: "Story", Name: "Custom_Cost", Kind: meta.Numeric, Code: 1},
			{ID: 5004, Type: "Workitem", Name: "Custom_Due", Kind: meta.Date, Code: 8},
			{ID: 5005, Type: "Story", Name: "Custom_Motto", Kind: meta.Text, Code: 8},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// generation returns the generation of the model in the database.
func (w *harness) generation() int64 {
	w.t.Helper()
	n, err := catalog.Generation(w.t.Context(), w.d)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *harness) raise() {
	w.t.Helper()
	if err := w.d.Write(w.t.Context(), func(tx *db.Tx) error { return catalog.Raise(w.t.Context(), tx) }); err != nil {
		w.t.Fatal(err)
	}
}

// on returns the harness with another engine.
func (w *harness) on(e *asset.Engine) *harness { return &harness{t: w.t, d: w.d, e: e} }

// createBy returns a create command like create, with the model of engine e.
func createBy(e *asset.Engine, typ string, words ...string) *asset.Command {
	c := create("Story", "", words...)
	c.Type, _ = e.Model().Type(typ)
	return c
}

// When an engine changes an asset, it keeps the values of attributes that its model does not
// have.
func TestUnknownAttributesAreKept(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		now := w.on(w.e.With(extended(t), 0))
		origin := now.must(createBy(now.e, "Custom_OriginType", "Name", "Sales"))[0]
		story := now.must(createBy(now.e, "Story", "Name", "A", "Scope", "Scope:0", "Custom_Text", "kept", "Custom_Origin", origin, "Reference", "r",
			"Custom_Cost", "2.5", "Custom_Due", "2026-01-01", "Custom_Motto", "KEPT Σ"))[0]
		w.must(update(story, "Name", "B", "Reference", "s"), update(story, "Reference", ""))
		for _, table := range []string{"asset", "asset_version"} {
			var rows, kept int
			q := `SELECT COUNT(*), COUNT(CASE WHEN attrs LIKE '%"Custom_Text"%kept%' AND custom_number_1 = 2.5 AND custom_date_8 = 1767225600000000` +
				` AND custom_text_8 = 'KEPT Σ' AND folded LIKE '%"custom_text_8"%kept σ%' THEN 1 END) FROM ` + table + ` WHERE name IN ('A', 'B')`
			if err := w.d.QueryRow(t.Context(), q).Scan(&rows, &kept); err != nil || rows == 0 || rows != kept {
				t.Errorf("%d of %d rows of %s keep it: %v", kept, rows, table, err)
			}
		}
		var links int
		if err := w.d.QueryRow(t.Context(), `SELECT COUNT(*) FROM asset_link WHERE relation = 10000 AND until_moment = ?`, db.Forever).Scan(&links); err != nil || links != 1 {
			t.Errorf("%d links: %v", links, err)
		}
	})
}

// The tables asset and asset_version have all columns for custom attributes. A text column stores
// the longest text of an attribute. A column without a value is NULL.
func TestSpareColumns(t *testing.T) {
	var all meta.Custom
	kinds := []meta.Kind{meta.Numeric, meta.Date, meta.Text}
	for n := 1; n <= meta.MaxSpare; n++ {
		for _, k := range kinds {
			all.Attributes = append(all.Attributes, meta.CustomAttribute{
				ID: int64(len(all.Attributes) + 1), Type: "BaseAsset", Name: fmt.Sprintf("Custom_%s%d", k, n), Kind: k, Code: model.FreeColumn(all, "BaseAsset", k),
			})
		}
	}
	m, err := model.Extend(all)
	if err != nil {
		t.Fatal(err)
	}
	longest := strings.Repeat("😀", 4000)
	each(t, func(t *testing.T, base *harness) {
		w := base.on(base.e.With(m, base.generation()))
		words := []string{"Name", "Full", "Scope", "Scope:0"}
		for n := 1; n <= meta.MaxSpare; n++ {
			words = append(words, fmt.Sprintf("Custom_Numeric%d", n), fmt.Sprintf("%d.5", n), fmt.Sprintf("Custom_Date%d", n), fmt.Sprintf("2026-01-%02d", n),
				fmt.Sprintf("Custom_Text%d", n), fmt.Sprintf("%d%s", n, longest[4:]))
		}
		story := w.must(createBy(w.e, "Story", words...), createBy(w.e, "Story", "Name", "Empty", "Scope", "Scope:0"))[0]
		for _, table := range []string{"asset", "asset_version"} {
			for n := 1; n <= meta.MaxSpare; n++ {
				var full, empty int
				q := fmt.Sprintf(`SELECT COUNT(CASE WHEN name = 'Full' AND custom_number_%d = ? AND custom_date_%d = ? AND custom_text_%d = ? THEN 1 END),`+
					` COUNT(CASE WHEN name = 'Empty' AND custom_number_%d IS NULL AND custom_date_%d IS NULL AND custom_text_%d IS NULL THEN 1 END) FROM %s`,
					n, n, n, n, n, n, table)
				day := time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC).UnixMicro()
				err := w.d.QueryRow(t.Context(), q, float64(n)+0.5, day, fmt.Sprintf("%d%s", n, longest[4:])).Scan(&full, &empty)
				if err != nil || full != 1 || empty != 1 {
					t.Errorf("columns %d of %s: %d rows with values, %d without: %v", n, table, full, empty, err)
				}
			}
		}
		if got := w.fails(update(story, "Custom_Text1", longest+"x")); !strings.Contains(got, "Custom_Text1") {
			t.Errorf("a text of 4,001 characters: %q", got)
		}
		w.must(update(story, "Custom_Text1", "", "Custom_Numeric1", "", "Custom_Date1", ""))
		var cleared int
		q := `SELECT COUNT(*) FROM asset WHERE name = 'Full' AND COALESCE(custom_text_1, '') = '' AND custom_number_1 IS NULL AND custom_date_1 IS NULL AND custom_number_2 = 2.5`
		if err := w.d.QueryRow(t.Context(), q).Scan(&cleared); err != nil || cleared != 1 {
			t.Errorf("%d rows are cleared: %v", cleared, err)
		}
	})
}

// An operation that copies an asset also copies its custom attributes, even if the type of the copy
// stores them in other columns.
func TestCustomColumnsAreCopied(t *testing.T) {
	m, err := model.Extend(meta.Custom{Attributes: []meta.CustomAttribute{
		{ID: 1, Type: "Story", Name: "Custom_Motto", Kind: meta.Text, Code: 1},
		{ID: 2, Type: "Defect", Name: "Custom_Motto", Kind: meta.Text, Code: 2},
		{ID: 3, Type: "Story", Name: "Custom_Cost", Kind: meta.Numeric, Code: 1},
		{ID: 4, Type: "Defect", Name: "Custom_Cost", Kind: meta.Numeric},
		{ID: 5, Type: "Story", Name: "Custom_Other", Kind: meta.Numeric, Code: 2},
	}})
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, base *harness) {
		w := base.on(base.e.With(m, base.generation()))
		story := w.must(createBy(w.e, "Story", "Name", "S", "Scope", "Scope:0", "Custom_Motto", "Ünit", "Custom_Cost", "2.5", "Custom_Other", "7"))[0]
		w.must(operate(story, "ShallowCopy"))
		w.must(operate(story, "ConvertToDefect"))
		for _, table := range []string{"asset", "asset_version"} {
			w.expect("4 Ünit - 2.5 7\n5 - Ünit - -\n", `SELECT DISTINCT type, COALESCE(custom_text_1, '-'), COALESCE(custom_text_2, '-'), COALESCE(custom_number_1, '-'), COALESCE(custom_number_2, '-') FROM `+table+
				` WHERE name = 'S' ORDER BY type`)
			w.expect("1 1\n", `SELECT COUNT(*), SUM(CASE WHEN attrs LIKE '%"Custom_Cost"%2.5%' AND folded LIKE '%"custom_text_2"%ünit%' THEN 1 END) FROM `+table+` WHERE name = 'S' AND type = 5`)
		}
	})
}

// A write with an old model fails with ErrModelChanged, whether it would change something or not.
// The same write succeeds with the current model.
func TestWritesAreByThePresentModel(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		old := w.on(w.e.With(model, w.generation()))
		story := old.must(create("Story", "", "Name", "A", "Scope", "Scope:0"))[0]
		w.raise()
		for what, c := range map[string]*asset.Command{
			"changes something":  update(story, "Name", "B"),
			"is refused as such": update(story, "Custom_Text", "x"),
		} {
			once := requests.Identity{Key: what, Hash: strings.Repeat("0", 64)}
			answer := func(e *asset.Engine) error {
				_, err := e.Answer(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, once, func(s *asset.Session) ([]byte, error) {
					_, err := s.Run(t.Context(), []*asset.Command{c})
					return []byte("{}"), err
				})
				return err
			}
			if err := answer(old.e); !errors.Is(err, asset.ErrModelChanged) {
				t.Errorf("what %s: %v", what, err)
			}
			if err := answer(w.e.With(extended(t), w.generation())); err != nil {
				t.Errorf("what %s, by the present model: %v", what, err)
			}
		}
	})
}

// If NobodyElsewhere is true, the engine does not count writes. As soon as a process reads from a
// replica, a write by such an engine is not committed.
func TestWritesAreCountedByThePresentModel(t *testing.T) {
	w := newHarness(t, testdb.MySQL(t))
	engine := func(nobody bool) *harness {
		e := w.e.With(model, w.generation())
		e.NobodyElsewhere = nobody
		return w.on(e)
	}
	counted := func(want string) {
		t.Helper()
		w.expect(want, `SELECT COALESCE(SUM(writes), 0) FROM member_write`)
	}
	old := engine(true)
	story := old.must(create("Story", "", "Name", "A", "Scope", "Scope:0"))[0]
	if err := catalog.ReadElsewhere(t.Context(), w.d); err != nil {
		t.Fatal(err)
	}
	if err := old.e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
		_, err := s.Run(t.Context(), []*asset.Command{update(story, "Name", "B")})
		return err
	}); !errors.Is(err, asset.ErrModelChanged) {
		t.Errorf("a write that is not counted: %v", err)
	}
	counted("0\n")
	engine(false).must(update(story, "Name", "B"))
	counted("1\n")
}

// The answer of a request that was rolled back is stored only if the engine has the current model.
func TestRolledBackAnswersAreByThePresentModel(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		old := w.e.With(model, w.generation())
		w.raise()
		once := requests.Identity{Key: "k", Hash: strings.Repeat("0", 64)}
		for _, e := range []*asset.Engine{old, w.e.With(model, w.generation())} {
			_, err := e.Answer(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, once, func(*asset.Session) ([]byte, error) {
				return []byte("{}"), asset.ErrRollback
			})
			if (e == old) != errors.Is(err, asset.ErrModelChanged) {
				t.Errorf("by the old model %v: %v", e == old, err)
			}
		}
	})
}

// A change of the model raises the generation of the model and of the subscriptions, and calls
// OnModelChanged after the commit. With an old model, the change is not committed.
func TestChangesOfTheModel(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		told := 0
		e := w.e.With(model, w.generation())
		change := func(e *asset.Engine) error {
			return e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
				s.ModelChanged()
				_, err := s.Run(t.Context(), []*asset.Command{create("Story", "", "Name", "A", "Scope", "Scope:0")})
				return err
			})
		}
		e.OnModelChanged = func(context.Context) { told++ }
		before := w.generation()
		if err := change(e); err != nil || told != 1 || w.generation() != before+1 {
			t.Errorf("told %d times, from %d to %d: %v", told, before, w.generation(), err)
		}
		var subscriptions, audit int64
		q := `SELECT value, (SELECT MAX(generation) FROM audit) FROM sequence WHERE name = 'webhook'`
		if err := w.d.QueryRow(t.Context(), q).Scan(&subscriptions, &audit); err != nil || subscriptions != 1 || audit != 1 {
			t.Errorf("generation %d, in the audit %d: %v", subscriptions, audit, err)
		}
		if err := change(e); !errors.Is(err, asset.ErrModelChanged) || told != 1 || w.generation() != before+1 {
			t.Errorf("by the old model: told %d times, to %d: %v", told, w.generation(), err)
		}
	})
}
