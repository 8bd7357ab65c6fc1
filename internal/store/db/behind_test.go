package db_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestAWriteThatMissesSomethingRunsAgainOnANodeOfACluster checks a write that calls Missed. Its
// function runs once more after the node has caught up, and then reads a row that another session
// has committed in the meantime.
func TestAWriteThatMissesSomethingRunsAgainOnANodeOfACluster(t *testing.T) {
	d := testdb.MySQL(t)
	t.Cleanup(func() { d.SetEngine(nil) })
	answer := errors.New("it is not there")
	for name, c := range map[string]struct {
		facts map[string]string
		runs  int // how often a function runs that has missed something
	}{
		"a single server":                {map[string]string{"wsrep_on": "OFF", "wsrep_provider": "none"}, 1},
		"one primary":                    {map[string]string{"group_replication_single_primary_mode": "ON"}, 1},
		"a node of Galera":               {map[string]string{"wsrep_on": "ON", "wsrep_provider": "/usr/lib/galera/libgalera_smm.so"}, 2},
		"several primaries":              {map[string]string{"group_replication_single_primary_mode": "OFF"}, 2},
		"nothing is known of the server": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d.SetEngine(c.facts)
			for _, missing := range []bool{false, true} {
				for _, fails := range []error{nil, answer} {
					runs := 0
					err := d.Write(t.Context(), func(tx *db.Tx) error {
						runs++
						if missing {
							db.Missed(tx)
						}
						return fails
					})
					want := 1
					if missing {
						want = c.runs
					}
					if runs != want || !errors.Is(err, fails) {
						t.Errorf("missing %t, %v: the function ran %d times, want %d; %v", missing, fails, runs, want, err)
					}
				}
			}
		})
	}
}

// TestASessionCatchesUpForOneLookUp checks that the session variable of catchUp has its old value
// again when the transaction begins.
func TestASessionCatchesUpForOneLookUp(t *testing.T) {
	d := testdb.MySQL(t)
	t.Cleanup(func() { d.SetEngine(nil) })
	d.SetEngine(map[string]string{"wsrep_on": "ON", "wsrep_provider": "/usr/lib/galera/libgalera_smm.so"})
	server, err := d.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(server, "MariaDB") {
		t.Skip("only MariaDB has the variable")
	}
	var seen []int
	err = d.Write(t.Context(), func(tx *db.Tx) error {
		db.Missed(tx)
		var now int
		err := tx.QueryRow(context.Background(), "SELECT @@SESSION.wsrep_sync_wait").Scan(&now)
		seen = append(seen, now)
		return err
	})
	if err != nil || !slices.Equal(seen, []int{0, 0}) {
		t.Errorf("wsrep_sync_wait in the transactions: %v, %v", seen, err)
	}
}
