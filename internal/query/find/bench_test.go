package find

import (
	"fmt"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// BenchmarkPrepare measures how long it takes to turn requests into the text and arguments of their
// statement. It uses cached plans and, for comparison, one plan for each request.
func BenchmarkPrepare(b *testing.B) {
	f := New(testdb.SQLite(b), meta.Default())
	point := func(i int) query.Request {
		return query.Request{
			From: query.Text{Text: fmt.Sprintf("Story:%d", 1000+i%1000)}, One: true, Rest: true,
			Select: items([]string{"Name", "Number", "Estimate", "Scope.Name", "Status.Name"}),
		}
	}
	page := func(i int) query.Request {
		return query.Request{
			From: query.Text{Text: "Story"}, Select: items([]string{"Name", "Estimate", "Status.Name", "Timebox.Name", "Owners.Name"}),
			Where: []query.Pair{{Token: query.Text{Text: "Scope"}, Value: query.Text{Text: fmt.Sprintf("Scope:%d", 1000+i%1000)}}},
			Sort:  []query.Text{{Text: "Order"}}, Page: &query.Page{Size: 50},
		}
	}
	for name, ask := range map[string]func(int) query.Request{"point": point, "page": page} {
		for how, prepare := range map[string]func(query.Request, query.Reader) (prepared, error){"cached": f.prepare, "alone": f.bind} {
			b.Run(name+"/"+how, func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					p, err := prepare(ask(i), query.Reader{All: true})
					if err != nil {
						b.Fatal(err)
					}
					x := &executor{prepared: p, f: f, w: f.writer(auth.System)}
					x.filled(x.page().Args)
				}
			})
		}
	}
}
