package find

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestSharedCells checks values that many rows in several blocks share: values of their projects,
// their owners and their groups.
func TestSharedCells(t *testing.T) {
	const stories, scopes, members = 2*db.MaxIn + 7, 3, 5
	ofScope, ofMember := [scopes]int{}, [members]int{}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t)
		f.set("Scope:0", "Name=System")
		for i := range scopes {
			f.set(fmt.Sprintf("Scope:%d", 1000+i), "Name=P; Parent=Scope:0")
		}
		for i := range members {
			f.set(fmt.Sprintf("Member:%d", 1100+i), fmt.Sprintf("Name=M%d", i))
		}
		ofScope, ofMember = [scopes]int{}, [members]int{}
		for i := range stories {
			f.set(fmt.Sprintf("Story:%d", 2000+i), fmt.Sprintf("Name=S%d; Scope=Scope:%d; Owners=Member:%d,Member:%d", i, 1000+i%scopes, 1100+i%members, 1100+(i+1)%members))
			ofScope[i%scopes]++
			ofMember[i%members]++
			ofMember[(i+1)%members]++
		}
		f.write(d)
		ask := func(r query.Request, selected ...string) string {
			for _, s := range selected {
				r.Select = append(r.Select, query.Item{Text: query.Text{Text: s}})
			}
			got, err := New(d, f.m).Rows(context.Background(), nil, auth.System, r, nil)
			if err != nil {
				t.Fatal(err)
			}
			return string(got)
		}
		row := func(i int) string {
			return fmt.Sprintf(`{"_oid":"Story:%d","Scope.Workitems.@Count":"%d","Owners.OwnedWorkitems.@Count":"%d"}`, 2000+i,
				ofScope[i%scopes], ofMember[i%members]+ofMember[(i+1)%members])
		}
		var rows []string
		for i := range stories {
			rows = append(rows, row(i))
		}
		story := query.Request{From: query.Text{Text: "Story"}}
		shared := []string{"Scope.Workitems.@Count", "Owners.OwnedWorkitems.@Count"}
		if got := ask(story, shared...); got != "["+strings.Join(rows, ",")+"]" {
			t.Errorf("all: %.300s", got)
		}
		paged := story
		for _, p := range []query.Page{{Start: 0, Size: 3}, {Start: 150, Size: 5}, {Start: 10, Size: 700}} {
			paged.Page = &p
			if got := ask(paged, shared...); got != "["+strings.Join(rows[p.Start:p.Start+p.Size], ",")+"]" {
				t.Errorf("page %+v: %.300s", p, got)
			}
		}
		grouped := story
		grouped.Group = []query.Request{{From: query.Text{Text: "Owners"}, Select: []query.Item{{Text: query.Text{Text: "OwnedWorkitems.@Count"}}}}}
		got := ask(grouped)
		for i := range members {
			if head := fmt.Sprintf(`{"_oid":"Member:%d","OwnedWorkitems.@Count":"%d","_children":[`, 1100+i, ofMember[i]); !strings.Contains(got, head) {
				t.Errorf("no group %s in %.300s", head, got)
			}
		}
	})
}
