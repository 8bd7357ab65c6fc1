package find

import (
	"context"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestSumsOfNumbersBeyondTheBound checks numbers that were written before there was a limit. They
// are read unchanged, and their sums and differences are finite.
func TestSumsOfNumbersBeyondTheBound(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t)
		f.set("Scope:1000", "Name=P")
		f.set("Story:1020", "Name=A; Scope=Scope:1000; Estimate=1.7e308; DetailEstimate=1.7e308; ToDo=-1.7e308; Ideas=9223372036854775807,9223372036854775806")
		f.set("Story:1021", "Name=B; Scope=Scope:1000; Estimate=1.7e308; DetailEstimate=-1.7e308; ToDo=1.7e308")
		f.write(d)
		r, err := fromJSON([]byte(`{"from": "Scope:1000", "select": ["Workitems:Story.Estimate.@Sum", "Workitems:Story.EstimatedDone.@Sum", "Workitems:Story.Ideas.@Sum", "Workitems:Story.Estimate.@Max"]}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := New(d, f.m).Rows(context.Background(), nil, actors["admin"], r, nil)
		want := `[{"_oid":"Scope:1000","Workitems:Story.Estimate.@Sum":"2e+100","Workitems:Story.EstimatedDone.@Sum":"0","Workitems:Story.Ideas.@Sum":"18446744073709552000","Workitems:Story.Estimate.@Max":"1.7e+308"}]`
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	})
}
