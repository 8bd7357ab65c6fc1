package asset_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/sql"
)

// sound checks that the database is consistent, by the checks of package check.
func (w *harness) sound() {
	w.t.Helper()
	found, err := check.Run(w.t.Context(), w.d, model)
	if err != nil || len(found) > 0 {
		w.t.Error(found, err)
	}
}

// The audit row of an import is marked. Without this mark, a version must have the member and the
// date of its audit row. The moments of an import are stamped with the real time.
func TestImportIsMarked(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		m := w.must(create("Member", "@m", "Name", "M", "Nickname", "m", "DefaultRole", "Role:4"))[0]
		s := create("Story", "@s", "Name", "S", "Scope", "Scope:0", "CreatedBy", m, "CreateDate", "2010-01-01", "ChangedBy", m, "ChangeDate", "2010-01-02T00:00:00.0005")
		if got := w.fails(s); got != "Violation'ReadOnly'Story.CreatedBy" {
			t.Error(got)
		}
		req := asset.Request{ID: uuid.NewString(), Import: true}
		err := w.e.Write(t.Context(), auth.System, req, func(x *asset.Session) error {
			done, err := x.Run(t.Context(), []*asset.Command{s})
			if err == nil {
				err = done[0].Err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.must(update(s.Self.OID().String(), "Name", "T"))
		id := s.Self.ID
		w.expect("S 1262304000000000 1001 1262390400000000 1001 1\nT 1262304000000000 1001 - 20 0\n",
			`SELECT v.name, v.created_at, v.created_by, CASE WHEN v.changed_by = 20 THEN NULL ELSE v.changed_at END, v.changed_by, a.imported`+
				` FROM asset_version v JOIN audit a ON a.id = v.audit_id WHERE v.id = ? ORDER BY v.moment`, id)
		w.expect("1\n", `SELECT COUNT(*) FROM asset a JOIN moment_stamp m ON m.last_moment = a.moment AND m.at = a.changed_at WHERE a.id = ?`, id)
		w.sound()
		if _, err := w.d.Exec(t.Context(), `UPDATE audit SET imported = 0`); err != nil {
			t.Fatal(err)
		}
		found, err := check.Run(t.Context(), w.d, model)
		if err != nil || len(found) != 2 || found[0].Check != "audit of a version" || found[1].Check != "moment stamps" {
			t.Error(found, err)
		}
	})
}

// An earlier release allowed an end date before the begin date. Other attributes of such an asset
// can be changed, and its dates can be corrected.
func TestEndBeforeBeginningStaysChangeable(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		p := w.must(create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"))[0]
		for _, table := range []string{"asset", "asset_version"} {
			if _, err := w.d.Exec(t.Context(), `UPDATE `+table+` SET end_date = begin_date - 86400000000 WHERE id = 1001`); err != nil {
				t.Fatal(err)
			}
		}
		w.must(update(p, "Name", "Q"), update(p, "EndDate", "2025-12-31"), operate(p, "Inactivate"))
		if got := w.fails(update(p, "EndDate", "2025-12-30")); got != "Violation'Invalid'Scope.EndDate" {
			t.Error(got)
		}
		w.must(update(p, "BeginDate", "2025-12-31"))
		w.sound()
	})
}

// A migration gives the dependencies of defects and of epics the relation code that dependencies of
// stories have.
func TestDependenciesAreMigrated(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(
			create("Defect", "@a", "Name", "A", "Scope", "Scope:0"),
			create("Defect", "@b", "Name", "B", "Scope", "Scope:0", "Dependencies", "@a"),
			create("Epic", "@e", "Name", "E", "Scope", "Scope:0"),
			create("Epic", "@f", "Name", "F", "Scope", "Scope:0", "Dependencies", "@e"),
			create("Story", "@s", "Name", "S", "Scope", "Scope:0", "Dependencies", "@f"),
		)
		w.must(update(got[1], "-Dependencies", got[0]))
		for code, typ := range map[int]int{18: 5, 24: 9} { // as an earlier release stored them
			if _, err := w.d.Exec(t.Context(), `UPDATE asset_link SET relation = ? WHERE relation = 5 AND from_type = ?`, code, typ); err != nil {
				t.Fatal(err)
			}
		}
		steps, err := sql.Migrations(w.d.Dialect.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			if !strings.HasPrefix(step.Name, "dependencies") {
				continue
			}
			if _, err := w.d.Exec(t.Context(), strings.TrimSuffix(strings.TrimSpace(step.Text), ";")); err != nil {
				t.Fatal(err)
			}
		}
		w.expect("5 5 1002 1001 1006\n5 9 1004 1003 on\n5 4 1005 1004 on\n",
			`SELECT relation, from_type, from_id, to_id, until_moment FROM asset_link WHERE relation IN (5, 18, 24) ORDER BY from_id`)
		w.sound()
	})
}
