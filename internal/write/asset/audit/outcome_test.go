package audit

import (
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Judged(m) }

// If the answer to the commit of the marker is lost, too, the next call of Log.happened finds the
// marker. That call must not mistake the marker for the audit row of the request.
func TestLostMarkerAnswer(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := New(d)
		request := uuid.NewString()
		marker, err := l.newMarker(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, look := range []string{"first", "second"} {
			if happened, err := l.happened(t.Context(), auth.SystemMember, request, marker); err != nil || happened {
				t.Errorf("%s look at a request that was not committed: %t, %v", look, happened, err)
			}
		}
		other, err := l.newMarker(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if happened, err := l.happened(t.Context(), auth.SystemMember, request, other); err != nil || !happened {
			t.Errorf("a request of which there is an audit with another id: %t, %v", happened, err)
		}
	})
}
