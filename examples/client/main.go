// Command client creates a project in alds, queries it, and receives a change by webhook.
//
//	go run ./examples/client
//
// ALDS_URL is the URL of the service, ALDS_USER and ALDS_PASSWORD are the login. If ALDS_TOKEN is
// set, this access token is used instead of the login. The program needs Go 1.26 and only the
// standard library. webhook.go has the receiver of the webhook.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	project, err := createProject(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, string) error{showStories, showPages, followChange} {
		if err := step(ctx, project); err != nil {
			return err
		}
	}
	return nil
}

// createProject creates a project and returns its Oid. Assets nested in the project are created with
// it, and are related to it.
func createProject(ctx context.Context) (string, error) {
	created, err := write(ctx, object{
		"AssetType": "Scope", "Name": "Web shop", "Parent": "Scope:0", "BeginDate": "2026-01-01",
		"Workitems": list{
			object{"AssetType": "Story", "Name": "Browse the catalogue", "Estimate": 3},
			object{"AssetType": "Story", "Name": "Gift wrap", "Estimate": 1},
			object{"AssetType": "Story", "Name": "Pay by card", "Estimate": 8, "Children": list{
				object{"AssetType": "Task", "Name": "Choose a provider"},
				object{"AssetType": "Task", "Name": "Send the receipt"},
			}},
		},
	})
	if err != nil {
		return "", err
	}
	fmt.Printf("created %s and %d assets in it\n", created[0], len(created)-1)
	return created[0], nil
}

// row is a story or a task with its selected attributes.
type row struct {
	OID      string `json:"_oid"`
	Name     string
	Estimate string
	Status   string `json:"Status.Name"`
	Tasks    []row  `json:"Children:Task"`
}

func showStories(ctx context.Context, project string) error {
	var results [][]row // the answer has a list of rows for each query
	if _, err := post(ctx, "query.v1", object{
		"from": "Story", "where": object{"Scope": project}, "sort": list{"-Estimate"},
		"select": list{"Name", "Estimate", object{"from": "Children:Task", "select": list{"Name"}}},
	}, &results); err != nil {
		return err
	}
	for _, story := range results[0] {
		fmt.Printf("%s %s, estimate %s: %s\n", story.OID, story.Name, story.Estimate, cmp.Or(names(story.Tasks), "no tasks"))
	}
	return nil
}

// showPages reads the stories page by page. With a cursor, no story is repeated or skipped if other
// stories are created meanwhile.
func showPages(ctx context.Context, project string) error {
	for after := new(""); after != nil; { // nil after the last page
		var results [][]row
		header, err := post(ctx, "query.v1", object{
			"from": "Story", "where": object{"Scope": project}, "select": list{"Name"}, "sort": list{"Name"},
			"page": object{"size": 2, "after": after},
		}, &results)
		if err != nil {
			return err
		}
		fmt.Println("page:", names(results[0]))
		var pages []struct{ Next *string }
		if err := json.Unmarshal([]byte(header.Get("Alds-Result")), &pages); err != nil {
			return err
		}
		after = pages[0].Next
	}
	return nil
}

func names(rows []row) string {
	var all []string
	for _, r := range rows {
		all = append(all, r.Name)
	}
	return strings.Join(all, ", ")
}
