package bulk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// An operation on an asset also changes its parts, such as the tasks of a story. The parts count
// for the limit of the request. A request that exceeds the limit changes nothing.
func TestReachIsBounded(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		engine(t, d) // engine seeds the database
		model := meta.Default()
		assets := asset.New(d, model, nil, nil)
		e := bulk.New(assets, find.New(d, model))
		e.MaxAssets, assets.MaxAssets = 12, 12
		story := func(tasks int) string {
			return `{"AssetType":"Story","Name":"S","Scope":"Scope:0","Children":[` + strings.Repeat(`{"AssetType":"Task","Name":"T"},`, tasks-1) + `{"AssetType":"Task","Name":"T"}]}`
		}
		run := func(body string) string {
			t.Helper()
			out, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(body)})
			if err != nil {
				return fault.KindOf(err).String() + ": " + fault.Public(err)
			}
			return string(out)
		}
		const refused = "invalid: The request touches more than 12 assets."
		for range 3 {
			run(story(4))
		}
		if got := run(`{"from":"Story","execute":"Delete"}`); got != refused {
			t.Errorf("three stories with four tasks each: %s", got)
		}
		if n := deletedAssets(t, d); n != 0 {
			t.Errorf("%d assets are deleted by a request that was refused", n)
		}
		if got := run(`{"from":"Story","execute":"Delete","page":{"start":0,"size":2}}`); !strings.Contains(got, `"count":2}`) {
			t.Errorf("two of them: %s", got)
		}
		if n := deletedAssets(t, d); n != 10 {
			t.Errorf("%d assets are deleted with two stories of four tasks", n)
		}
		if got := run(`{"from":"Task","where":{"IsDeleted":true},"execute":"Undelete"}`); !strings.Contains(got, `"count":8}`) {
			t.Errorf("eight tasks on their own: %s", got)
		}
	})
}

// One command deletes and undeletes more assets than a batch can have.
func TestReachOfMany(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e := engine(t, d)
		run := func(body string) string {
			t.Helper()
			out, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(body)})
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		const tasks = asset.MaxBatch/2 + 100
		var b strings.Builder
		for n := range 3 {
			fmt.Fprintf(&b, `{"AssetType":"Story","Name":"S%d","Scope":"Scope:0","Children":[`, n)
			b.WriteString(strings.Repeat(`{"AssetType":"Task","Name":"T"},`, tasks-1) + `{"AssetType":"Task","Name":"T"}]},`)
		}
		run("[" + strings.TrimSuffix(b.String(), ",") + "]")
		if got := run(`{"from":"Story","execute":"Delete"}`); !strings.Contains(got, `"count":3}`) {
			t.Fatal(got)
		}
		if n := deletedAssets(t, d); n != 3*(tasks+1) {
			t.Errorf("%d assets are deleted, want %d", n, 3*(tasks+1))
		}
		if got := run(`{"from":"Story","where":{"IsDeleted":true},"execute":"Undelete"}`); !strings.Contains(got, `"count":3}`) {
			t.Fatal(got)
		}
		if n := deletedAssets(t, d); n != 0 {
			t.Errorf("%d assets are still deleted", n)
		}
	})
}

func deletedAssets(t *testing.T, d *db.DB) int {
	t.Helper()
	return testdb.Count(t, d, "SELECT COUNT(*) FROM asset WHERE state = 255")
}
