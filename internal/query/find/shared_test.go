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

// TestLongTextsKeepTheirOrder checks the order of long texts below several parents. SQLite finds it without the texts.
func TestLongTextsKeepTheirOrder(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t)
		f.set("Scope:0", "Name=System")
		f.set("Member:1100", "Name=A")
		f.set("Member:1101", "Name=B")
		f.set("Story:2000", "Name=S0; Scope=Scope:0; Description=zero; Owners=Member:1100,Member:1101")
		f.set("Story:2001", "Name=S1; Scope=Scope:0; Description=one; Owners=Member:1101")
		f.set("Story:2002", "Name=S2; Scope=Scope:0; Description=two; Owners=Member:1100")
		f.write(d)
		for _, c := range []struct {
			item query.Item
			want string
		}{
			{
				query.Item{Text: query.Text{Text: "Owners.OwnedWorkitems.Description"}},
				`[{"_oid":"Story:2000","Owners.OwnedWorkitems.Description":["zero","two","zero","one"]},{"_oid":"Story:2001","Owners.OwnedWorkitems.Description":["zero","one"]},{"_oid":"Story:2002","Owners.OwnedWorkitems.Description":["zero","two"]}]`,
			},
			{
				query.Item{Sub: &query.Request{From: query.Text{Text: "Scope.Workitems"}, Select: items([]string{"Description"}), Sort: []query.Text{{Text: "-Name"}}}},
				strings.ReplaceAll(`[{"_oid":"Story:2000",ROWS},{"_oid":"Story:2001",ROWS},{"_oid":"Story:2002",ROWS}]`, "ROWS",
					`"Scope.Workitems":[{"_oid":"Story:2002","Description":"two"},{"_oid":"Story:2001","Description":"one"},{"_oid":"Story:2000","Description":"zero"}]`),
			},
		} {
			r := query.Request{From: query.Text{Text: "Story"}, Select: []query.Item{c.item}}
			got, err := New(d, f.m).Rows(context.Background(), nil, auth.System, r, nil)
			if err != nil || string(got) != c.want {
				t.Errorf("%s %v, want %s", got, err, c.want)
			}
		}
	})
}
