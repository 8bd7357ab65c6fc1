package query

import (
	"testing"

	"github.com/alds-dev/alds/internal/base/document"
)

func TestValueless(t *testing.T) {
	for body, want := range map[string]string{
		`{"from": "Story", "select": ["Name", "Owners[Name='secret'].@Count"]}`:                                                       `{"from":"Story","select":["Name","Owners[Name='?'].@Count"]}`,
		`{"from": "Story:1234:99", "where": {"Scope": "Scope:7", "Owners[Name=\"x\"].Name": "secret"}}`:                               `{"from":"Story:?","where":{"Owners[Name='?'].Name":"?","Scope":"?"}}`,
		`{"from": "Story", "filter": ["Name='it''s','b', \"c\"|Estimate>'3';Owners=$m"], "with": {"$m": ["Member:20", "Member:21"]}}`: `{"from":"Story","filter":["Name='?'|Estimate>'?';Owners=$m"],"with":{"$m":["?"]}}`,
		`{"from": "Story", "where": {"Name": "$m", "Number": "$ecret"}, "with": {"m": "x"}}`:                                          `{"from":"Story","where":{"Name":"$m","Number":"?"},"with":{"$m":["?"]}}`,
		`{"from": "Story", "find": "secret", "findin": ["Name"], "sort": ["-Order"], "page": {"size": 5, "start": 10}}`:               `{"from":"Story","sort":["-Order"],"find":"?","findin":["Name"],"page":{"size":5}}`,
		`{"from": "Story", "asof": "2026-01-01", "total": true}`:                                                                      `{"from":"Story","asof":"?","total":true}`,
		`{"from": "Story", "asof": "All", "select": [{"from": "Children[Name='s']", "select": ["Name"], "filter": ["Name='s'"]}]}`:    `{"from":"Story","select":[{"from":"Children[Name='?']","select":["Name"],"filter":["Name='?'"]}],"asof":"All"}`,
		`{"from": "Story", "page": {"size": 5, "after": "c2VjcmV0"}, "filter": ["Name='open"]}`:                                       `{"from":"Story","filter":["Name="],"page":{"size":5,"after":"?"}}`,
		`{"from": "Story", "group": [{"from": "Scope", "select": ["Name"]}]}`:                                                         `{"from":"Story","group":[{"from":"Scope","select":["Name"]}]}`,
	} {
		nodes, err := document.Parse([]byte(body), false)
		if err != nil {
			t.Fatal(err)
		}
		r, err := FromDoc(&nodes[0])
		if err != nil && r.From.Text == "" {
			t.Fatalf("%s: %v", body, err)
		}
		if got := r.Valueless(); got != want {
			t.Errorf("%s:\n%s, want\n%s", body, got, want)
		}
	}
}
