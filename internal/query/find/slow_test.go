package find

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/processes"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// slowServer answers every statement late.
type slowServer struct {
	db.Querier
	late time.Duration
}

func (s slowServer) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	<-time.After(s.late)
	return s.Querier.Query(ctx, query, args...)
}

// TestSlowQueriesAreNotedWithoutTheirValues checks that slow queries that differ only in values are
// recorded as one query, without these values.
func TestSlowQueriesAreNotedWithoutTheirValues(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		first := New(d, f.m)
		first.Slowest = processes.NewSlowest(nil)
		finder := first.With(f.m) // like a Finder for another model, it shares Slowest
		for _, name := range []string{"secret", "other"} {
			r, err := fromJSON([]byte(`{"from": "Story", "select": ["Name"], "filter": ["Name!='` + name + `'"]}`))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := finder.Rows(t.Context(), slowServer{d, 30 * time.Millisecond}, auth.System, r, nil); err != nil {
				t.Fatal(err)
			}
		}
		all := first.Slowest.List()
		if len(all) != 1 || all[0].Count != 2 || all[0].Rows == 0 || all[0].Slowest < 30*time.Millisecond ||
			all[0].Query != `{"from":"Story","select":["Name"],"filter":["Name!='?'"]}` {
			t.Errorf("%+v", all)
		}
	})
}

// TestTheTimeOfAClientIsNotThatOfItsQuery checks that the time of a query does not include the time
// of its client, and that a query that starts over is not recorded.
func TestTheTimeOfAClientIsNotThatOfItsQuery(t *testing.T) {
	d := testdb.SQLite(t)
	f := New(d, seed(t).m)
	f.Slowest = processes.NewSlowest(nil)
	r, err := fromJSON([]byte(`{"from": "Story"}`))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Minute)
	f.noteSlow(&r, began, effort{waited: time.Hour}, nil)
	f.noteSlow(&r, began, effort{}, db.ErrSlow)
	if all := f.Slowest.List(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if f.noteSlow(&r, began, effort{rows: 3, waited: 10 * time.Second}, context.DeadlineExceeded); f.Slowest.List()[0].Slowest.Round(time.Second) != 50*time.Second {
		t.Errorf("%+v", f.Slowest.List())
	}
}

// TestTheTimeOfAWriteIsNotThatOfItsAnswer sends a query to the server together with waiting
// statements of a write. Their common time is not recorded as the time of the query.
func TestTheTimeOfAWriteIsNotThatOfItsAnswer(t *testing.T) {
	d := testdb.MySQL(t)
	f := seed(t)
	f.write(d)
	finder := New(d, f.m)
	finder.Slowest = processes.NewSlowest(nil)
	r, err := fromJSON([]byte(`{"from": "Story"}`))
	if err != nil {
		t.Fatal(err)
	}
	err = d.Write(t.Context(), func(tx *db.Tx) error {
		if _, err := tx.Later().Exec(t.Context(), `UPDATE sequence SET value = value + SLEEP(?) WHERE name = 'model'`, 0.1); err != nil {
			return err
		}
		_, err := finder.Rows(t.Context(), tx, auth.System, r, nil)
		return err
	})
	if all := finder.Slowest.List(); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}
