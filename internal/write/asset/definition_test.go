package asset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/purge"
)

// growing returns the harness with an engine of the current model.
func (w *harness) growing() *harness {
	w.t.Helper()
	c := catalog.New(w.d, model, catalog.Options{})
	if err := c.Refresh(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	p := c.Present()
	return w.on(w.e.With(p.Model, p.Generation))
}

// define creates an attribute of stories. It returns a harness whose model has the attribute, and
// the Oid of the definition.
func (w *harness) define(name string, more ...string) (now *harness, definition string) {
	w.t.Helper()
	definition = w.must(create("AttributeDefinition", "", append([]string{"Name", name, "Asset", "Story"}, more...)...))[0]
	return w.growing(), definition
}

// agrees checks that the database is consistent, by the checks of package check.
func (w *harness) agrees() {
	w.t.Helper()
	findings, err := check.Run(w.t.Context(), w.d, w.e.Model())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range findings {
		w.t.Error(f)
	}
}

func (w *harness) number(query string, args ...any) (n int) {
	w.t.Helper()
	if err := w.d.QueryRow(w.t.Context(), query, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

var errInterrupted = errors.New("interrupted")

// purgeUntilLess runs a purge and interrupts it as soon as a step has reduced the number that
// query returns.
func (w *harness) purgeUntilLess(query string) {
	w.t.Helper()
	before := w.number(query)
	ctx := db.WithGuard(w.t.Context(), func(context.Context) error {
		if w.number(query) < before { // an earlier step has committed
			return errInterrupted
		}
		return nil
	})
	if err := purge.Run(ctx, w.d, model); !errors.Is(err, errInterrupted) {
		w.t.Fatalf("not interrupted: %v", err)
	}
}

// A purge removes a value and its folded form, even if only one of them is in the row of a
// version. The other is then in asset_text, because another attribute has a long value.
func TestDeleteWithDataThatLiesApart(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		now, short := w.growing().define("Custom_Short", "AttributeType", "LongText")
		now, long := now.define("Custom_Long", "AttributeType", "LongText")
		plain := now.must(createBy(now.e, "Story", "Name", "plain", "Scope", "Scope:0", "Custom_Short", "STRAẞE", "Custom_Long", strings.Repeat("a", 200)))
		folded := now.must(createBy(now.e, "Story", "Name", "folded", "Scope", "Scope:0", "Custom_Short", "STRAẞE", "Custom_Long", strings.Repeat("ẞ", 60)))
		for _, value := range []string{"1", "2"} {
			now.must(update(plain[0], "Estimate", value), update(folded[0], "Estimate", value))
		}
		for _, definition := range []string{short, long} {
			now.must(operate(definition, "DeleteWithData", "Assets", "2"))
			now = now.growing()
			if err := purge.Run(t.Context(), w.d, model); err != nil {
				t.Fatal(err)
			}
			now.agrees()
		}
		if n := w.number(`SELECT COUNT(*) FROM asset_version WHERE id > 1000 AND (folded LIKE '%Custom_%' OR folded_hash IS NOT NULL)`); n != 0 {
			t.Errorf("%d versions have folded forms", n)
		}
	})
}

// DeleteWithData of an attribute requires the number of assets that have a value. The attribute
// disappears from the model at once. A purge then removes its values completely, even if it is
// interrupted. After that, a new attribute with the same name must be of the same kind.
func TestDeleteWithData(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		now, _ := w.growing().define("Custom_List", "AttributeType", "Text")
		_ = now.must(createBy(now.e, "AssetType", "Name", "Custom_Origins", "Base", "List"))
		now, column := now.growing().define("Custom_Column", "AttributeType", "Text")
		now, json := now.define("Custom_Json", "AttributeType", "LongText")
		now, one := now.define("Custom_One", "AttributeType", "Relation", "RelatedAssetType", "Member")
		now, many := now.define("Custom_Many", "AttributeType", "Relation", "RelatedAssetType", "Member", "IsMultivalue", "true", "ReverseName", "Custom_Back")
		var all []*asset.Command
		for i := range 120 {
			all = append(all, createBy(now.e, "Story", "Name", fmt.Sprint(i), "Scope", "Scope:0", "Custom_Column", "GROẞ", "Custom_Json", strings.Repeat("GROẞ ", 40), "Custom_One", "Member:20", "Custom_Many", "Member:20", "Custom_List", "stays"))
		}
		made := now.must(all...)
		now.must(update(made[0], "Custom_Column", "", "Custom_Json", "", "Custom_One", ""), operate(made[1], "Delete"))
		for _, c := range []struct {
			definition, name, count, left string
			kind                          []string
		}{
			{column, "Custom_Column", "119", `SELECT COUNT(custom_text_2) FROM asset_version`, []string{"AttributeType", "Text"}},
			{json, "Custom_Json", "119", `SELECT COUNT(*) FROM asset_text WHERE text LIKE '%Custom_Json%' AND asset_id > 1000`, []string{"AttributeType", "LongText"}},
			{one, "Custom_One", "119", `SELECT COUNT(*) FROM asset_link WHERE relation = 10000`, []string{"AttributeType", "Relation", "RelatedAssetType", "Member"}},
			{many, "Custom_Many", "120", `SELECT COUNT(*) FROM asset_link WHERE relation = 10001`, []string{"AttributeType", "Relation", "RelatedAssetType", "Member", "IsMultivalue", "true"}},
		} {
			typ, _, _ := strings.Cut(c.definition, ":")
			if got := now.fails(operate(c.definition, "DeleteWithData")); got != "Violation'Required'"+typ+".Assets: "+c.count+" assets have a value" {
				t.Error(got)
			}
			if got := now.fails(operate(c.definition, "DeleteWithData", "Assets", "1")); got != "Violation'Invalid'"+typ+".Assets: "+c.count+" assets have a value" {
				t.Error(got)
			}
			now.must(operate(c.definition, "DeleteWithData", "Assets", c.count))
			now = now.growing()
			if got := now.fails(update(made[2], c.name, "x")); got != "Unknown AttributeDefinition: Story."+c.name {
				t.Error(got)
			}
			if got := now.fails(operate(c.definition, "Undelete")); got != "Invalid Operation '"+typ+".Undelete'" {
				t.Error(got)
			}
			again := append([]string{"Name", c.name, "Asset", "Story"}, c.kind...)
			if got := now.fails(create("AttributeDefinition", "", again...)); got != "Violation'Invalid'"+typ+".Name: Story has a "+c.name+" that is out of use" {
				t.Error(got)
			}
			if w.number(c.left) == 0 {
				t.Errorf("%s has no values before the purge", c.name)
			}
			w.purgeUntilLess(c.left)
			now.agrees()
			now.must(update(made[3], "Reference", "changed "+c.count+c.definition))
			if err := purge.Run(t.Context(), w.d, model); err != nil {
				t.Fatal(err)
			}
			if n := w.number(c.left) + w.number(`SELECT COUNT(*) FROM definition_purge`); n != 0 {
				t.Errorf("%d values of %s are left", n, c.name)
			}
			now.agrees()
			if got := now.fails(create("AttributeDefinition", "", "Name", c.name, "Asset", "PrimaryWorkitem", "AttributeType", "Boolean")); !strings.HasSuffix(got, "; a name keeps its meaning") {
				t.Error(got)
			}
			now.must(create("AttributeDefinition", "", again...))
			now = now.growing()
		}
		w.expect("1 stays\n", `SELECT COUNT(DISTINCT custom_text_1), MAX(custom_text_1) FROM asset WHERE name <> 'x' AND custom_text_1 IS NOT NULL`)
		if n := w.number(`SELECT COUNT(*) FROM asset WHERE folded LIKE '%text_2%' OR folded LIKE '%Custom_Json%' OR folded_hash IS NOT NULL`); n != 0 {
			t.Errorf("%d folded forms are left", n)
		}
		if o, ok := now.e.Model().DefinedBy(int64(w.number(`SELECT MAX(id) FROM asset WHERE name = 'Custom_Column'`))); !ok || o.Place.Column != "custom_text_2" {
			t.Errorf("the column is not used again: %+v", o)
		}
	})
}

// If concurrent requests create attributes with the same name, one succeeds. The others fail with a
// message that the name exists.
func TestOneNameAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		now := w.growing()
		var failed [4]error
		var all sync.WaitGroup
		for i := range failed {
			all.Go(func() {
				engine := now
				for try := 0; try < 10; try++ {
					err := engine.e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
						done, err := s.Run(t.Context(), []*asset.Command{create("AttributeDefinition", "", "Name", "Custom_Same", "Asset", "Story", "AttributeType", []string{"Text", "Date"}[i%2])})
						if err == nil {
							failed[i] = done[0].Err
						}
						return err
					})
					if err == nil {
						return
					}
					engine = w.growing()
				}
				t.Error("never carried out")
			})
		}
		all.Wait()
		won := 0
		for _, err := range failed {
			if err == nil {
				won++
			} else if !strings.Contains(err.Error(), "Name: Story has a Custom_Same already") {
				t.Error(err)
			}
		}
		if n := w.number(`SELECT COUNT(*) FROM asset WHERE name = 'Custom_Same'`); won != 1 || n != 1 {
			t.Errorf("%d have won, and there are %d", won, n)
		}
	})
}

// An attribute that becomes required is checked only for new assets. Existing assets without a
// value can still be changed and copied.
func TestRequiredLater(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		now := w.growing()
		old := now.must(createBy(now.e, "Story", "Name", "old", "Scope", "Scope:0"))[0]
		now, definition := now.define("Custom_Need", "AttributeType", "Relation", "RelatedAssetType", "Member", "IsRequired", "true")
		if got := now.fails(createBy(now.e, "Story", "Name", "new", "Scope", "Scope:0")); got != "Violation'Required'Story.Custom_Need" {
			t.Error(got)
		}
		now.must(update(old, "Name", "older"), operate(old, "Copy"), operate(old, "Split"), update(old, "Custom_Need", "Member:20"))
		if got := now.fails(update(old, "Custom_Need", "")); got != "Violation'Required'Story.Custom_Need" {
			t.Error(got)
		}
		now.must(update(definition, "IsRequired", "false", "DisplayName", "Need"))
		now = now.growing()
		now.must(createBy(now.e, "Story", "Name", "new", "Scope", "Scope:0"), update(old, "Custom_Need", ""))
		a, _ := mustType(now.e.Model(), "Story").Attr("Custom_Need")
		if a.Required || a.Display != "Need" {
			t.Errorf("%+v", a)
		}
		generation := now.generation()
		now.must(update(definition, "DisplayName", "Need"))
		if now.generation() != generation {
			t.Error("the model changes with an update that changes nothing")
		}
	})
}

func mustType(m *meta.Model, name string) *meta.Type {
	t, ok := m.Type(name)
	if !ok {
		panic(name)
	}
	return t
}
