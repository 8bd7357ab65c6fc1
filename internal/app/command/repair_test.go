package command

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestRepairCommand checks that repair prints its statements, and executes them only with --yes
// and while no process runs. The audit trail must record the repair.
func TestRepairCommand(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			settings := migrated(t, dialect)
			d := open(t, settings)
			exec := func(statement string) {
				t.Helper()
				testdb.Exec(t, d, statement)
			}
			var said string // output of the last command
			expect := func(what, wantErr string, wantOut string, args ...string) {
				t.Helper()
				out, err := output(t, settings, args...)
				got := ""
				if err != nil {
					got = err.Error()
				}
				said = out
				if (got == "") != (wantErr == "") || !strings.Contains(got, wantErr) || !strings.Contains(out, wantOut) {
					t.Errorf("%s: %q\n%s\nwant %q and %q", what, got, out, wantErr, wantOut)
				}
			}
			name := func() (name string, events int) {
				t.Helper()
				err := d.QueryRow(t.Context(), `SELECT name, (SELECT COUNT(*) FROM audit_trail WHERE kind = 'Repaired' AND address = 'command line') FROM asset WHERE id = 20`).Scan(&name, &events)
				if err != nil {
					t.Fatal(err)
				}
				return name, events
			}
			sound, _ := name()
			expect("nothing to do", "", "agrees with itself", "repair")
			exec(`UPDATE asset SET name = 'altered by hand' WHERE id = 20`)
			exec(`DELETE FROM sequence WHERE name = 'model'`)
			expect("a check without a model", "1 findings", `the row "model" is missing; `+"`api repair` fixes it", "check")
			expect("a plan without a model", "nothing was changed; of 1 findings 1 can be repaired", `    INSERT INTO sequence (name, value, stamped_at) VALUES ("model", "1", "0")`, "repair")
			exec(`INSERT INTO process (id, role, version, host, started, seen, slow_queries) VALUES ('p', 'worker', 'v', 'h', 1, ` + d.Dialect.NowMicros + `, '[]')`)
			refused := "nothing was changed; repair: these processes run, or were seen within the last minute: worker on h; stop them"
			expect("while a process runs", refused, "", "repair", "--yes")
			if said != "" {
				t.Errorf("a repair that is refused prints findings first:\n%s", said)
			}
			exec(`DELETE FROM process`)
			if got, events := name(); got != "altered by hand" || events != 0 {
				t.Errorf("the plan made it %q, %d events", got, events)
			}
			expect("mended", "", "2 findings repaired, by 3 statements", "repair", "--yes")
			if got, events := name(); got != sound || events != 2 {
				t.Errorf("it is %q, was %q, with %d events", got, sound, events)
			}
			expect("sound again", "", "agrees with itself", "check")
			exec(`UPDATE credential SET password_hash = ''`)
			expect("what cannot be mended", "1 findings are left", "set it again: `api password", "repair", "--yes")
			expect("and is shown", "none of which can be repaired", "", "repair")
		})
	}
}
