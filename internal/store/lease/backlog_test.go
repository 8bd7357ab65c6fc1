package lease

import (
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestABacklogIsCountedToItsBound(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		table(t, d)
		const rows = `SELECT at FROM audit WHERE fan_state = ? ORDER BY fan_state, fan_lease, id`
		for state, want := range []Backlog{{Count: 3, Oldest: 1}, {Count: 1, Oldest: 1}, {}} {
			if got, err := CountBacklog(t.Context(), d, rows, state); err != nil || got != want {
				t.Errorf("state %d: %+v %v, want %+v", state, got, err, want)
			}
		}
		const many = `SELECT a.at FROM audit a, audit b, audit c, audit d, audit e, audit f, audit g`
		if got, err := CountBacklog(t.Context(), d, many); err != nil || got.Count != MaxCounted || !got.More {
			t.Errorf("many: %+v %v", got, err)
		}
	})
}
