package bulk

import (
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// Each denied command gets an audit event with its asset, up to a limit per request. One more
// event counts the other denied commands. Other failures get no event.
func TestDeniedCommandsLeaveEvents(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := trail.New(d, meta.Default(), trail.Options{})
		e := &Engine{Audit: l}
		res := &result{failedBy: map[string]int{}}
		for i := range 100 {
			s := &step{kind: kindUpdate, from: oid.OID{Type: "Story", ID: int64(1001 + i)}}
			res.fail(s, fault.Deniedf("Denied'Story.Change"))
			res.fail(s, fault.Invalidf(fault.NoPlace, "Violation'Required'Story.Name"))
		}
		ctx := trail.With(t.Context(), trail.Origin{Address: "192.0.2.1"})
		e.noteDenials(ctx, auth.Actor{Member: 1001}, res)
		res.rollback()
		if res.refused.more != 100-maxDenials {
			t.Errorf("after a rollback: %+v", res.refused)
		}
		res.reset()
		e.noteDenials(ctx, auth.Actor{Member: 1001}, res)
		if err := l.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		p, err := l.Events(ctx, trail.Sight{All: true}, trail.Query{Page: "1000"})
		if err != nil || len(p.Results) != maxDenials+1 {
			t.Fatalf("%+v, %v", p, err)
		}
		total, assets := 0, map[string]bool{}
		for _, v := range p.Results {
			if v.Kind != trail.Denied || v.Actor != "Member:1001" || v.Address != "192.0.2.1" && !v.Various || v.Various == (v.Asset != "") {
				t.Errorf("%+v", v)
			}
			total += v.Count
			assets[v.Asset] = true
		}
		if total != 100 || !assets["Story:1001"] {
			t.Errorf("%d denied commands of %v", total, assets)
		}
	})
}
