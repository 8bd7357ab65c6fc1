package importer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/importer"
)

// TestKeysWithSpaces checks that the import ignores spaces around a key in a record, in a link
// and in the service, and therefore creates no item twice.
func TestKeysWithSpaces(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		dir := t.TempDir()
		put(t, dir+"/table.csv", "AssetType,Reference,Name\nStory, S-1 ,one\nStory,\"S-2\n\",two\n")
		put(t, dir+"/lines.jsonl", `{"AssetType": "Epic", "Reference": " S-3 ", "Name": "three"}`+"\n"+`{"AssetType": "Story", "Reference": "S-4\t", "Name": "four", "Super": {"Reference": "S-3 "}}`+"\n")
		put(t, dir+"/issues.csv", "Summary,Issue key,Issue Type,Custom field (Epic Link)\nfive, S-5,Epic,\nsix,S-6 ,Story,S-5 \n")
		for file, format := range map[string]string{"table.csv": "csv", "lines.jsonl": "jsonl", "issues.csv": "jira"} {
			o := importer.Options{URL: base, Format: format, File: dir + "/" + file, Project: "Scope:0"}
			for _, want := range []importer.Counts{{Records: 2, Created: 2}, {Records: 2, Skipped: 2}} {
				if got, said, err := bring(t, o, ""); err != nil || got != want {
					t.Errorf("%s: %+v, want %+v, %v\n%s", file, got, want, err, said)
				}
			}
		}
		query := map[string]any{"from": "Workitem", "find": "S-", "findin": []string{"Reference"}, "select": []string{"Reference", "Super.Reference"}, "sort": []string{"Reference"}}
		if got, want := rows(t, base, query), "S-1 | \nS-2 | \nS-3 | \nS-4 | S-3\nS-5 | \nS-6 | S-5\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		write(t, base, `{"AssetType": "Story", "Scope": "Scope:0", "Name": "of before", "Reference": " S-7 "}`)
		put(t, dir+"/before.csv", "AssetType,Reference,Name\nStory,S-7,of before\n")
		if got, said, err := bring(t, importer.Options{URL: base, Format: "csv", File: dir + "/before.csv"}, ""); err != nil || got.Skipped != 1 {
			t.Errorf("a key with spaces in the service: %+v, %v\n%s", got, err, said)
		}
	})
}

const oddTypes = `{"issues": [
  {"id": "1", "key": "T-1", "fields": {"summary": "a", "issuetype": {"name": "Initiative"}, "project": {"key": "T"}}},
  {"id": "2", "key": "T-2", "fields": {"summary": "b", "issuetype": {"name": "Epic"}, "project": {"key": "T"}, "parent": {"key": "T-1"}}},
  {"id": "3", "key": "T-3", "fields": {"summary": "c", "issuetype": {"name": "Request"}, "project": {"key": "T"}, "parent": {"key": "T-2"}}},
  {"id": "4", "key": "T-4", "fields": {"summary": "d", "issuetype": {"name": "Technical task", "subtask": true}, "project": {"key": "T"}, "parent": {"key": "T-3"},
    "issuelinks": [{"type": {"name": "Blocks"}, "inwardIssue": {"key": "T-1"}}]}},
  {"id": "5", "key": "T-5", "fields": {"summary": "e", "issuetype": {"name": "Member", "subtask": false}, "project": {"key": "T"},
    "issuelinks": [{"type": {"name": "Blocks"}, "inwardIssue": {"key": "T-4"}}]}}
]}`

// TestTypesOfIssues checks the asset types of issues. A type that the mapping does not list
// becomes a story, even if alds has a type with that name. A sub-task becomes a task, whatever
// its type. A link that its relation does not allow is left out.
func TestTypesOfIssues(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		dir := t.TempDir()
		put(t, dir+"/issues.json", oddTypes)
		put(t, dir+"/issues.csv", "Summary,Issue key,Issue Type\nf,T-6,Theme\ng,T-7,User Story\nh,T-8,Bug\n")
		for _, file := range []string{"/issues.json", "/issues.csv"} {
			got, said, err := bring(t, importer.Options{URL: base, Format: "jira", File: dir + file, Project: "Scope:0"}, "")
			if err != nil || got.Created != got.Records {
				t.Errorf("%s: %+v, %v\n%s", file, got, err, said)
			}
		}
		query := map[string]any{"from": "Workitem", "find": "T-", "findin": []string{"Reference"}, "select": []string{"Reference", "AssetType", "Super.Reference", "Parent.Reference", "Dependencies.Reference"}, "sort": []string{"Reference"}}
		const want = `T-1 | Story |  |  | []
T-2 | Epic |  |  | []
T-3 | Story | T-2 |  | []
T-4 | Task |  | T-3 | []
T-5 | Story |  |  | []
T-6 | Story |  |  | []
T-7 | Story |  |  | []
T-8 | Defect |  |  | []
`
		if got := rows(t, base, query); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// TestABadEpic imports records whose epic or story is rejected, in the same request or in an
// earlier one. A story is imported without its epic. A task is rejected together with its story.
func TestABadEpic(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		dir := t.TempDir()
		for batch, prefix := range map[int]string{1: "ALONE-", 6: "ALL-"} {
			of := strings.NewReplacer("E-", prefix)
			put(t, dir+"/bad.csv", of.Replace("Summary,Issue key,Issue Type,Epic Link,Parent\n,E-1,Epic,,\none,E-2,Story,E-1,\ntwo,E-3,Sub-task,,E-2\n,E-4,Story,E-1,\nthree,E-5,Sub-task,,E-4\nfour,E-6,Story,E-1,\n"))
			for _, dryRun := range []bool{true, false} {
				counts, said, err := bring(t, importer.Options{URL: base, Format: "jira", File: dir + "/bad.csv", Project: "Scope:0", Batch: batch, DryRun: dryRun}, "")
				if want := (importer.Counts{Records: 6, Created: 3, Rejected: 3}); !errors.Is(err, importer.ErrProblems) || counts != want {
					t.Errorf("batch of %d, dry run %t: %+v, want %+v, %v\n%s", batch, dryRun, counts, want, err, said)
				}
				for _, part := range []string{"line 2, E-1: Violation'Required'Epic.Name", "line 5, E-4: Violation'Required'Story.Name", "line 6, E-5: Parent: no record and no asset has the key E-4"} {
					if part = of.Replace(part); !strings.Contains(said, part) {
						t.Errorf("the output does not contain %s:\n%s", part, said)
					}
				}
			}
			query := map[string]any{"from": "Workitem", "find": prefix, "findin": []string{"Reference"}, "select": []string{"Reference", "Super.Reference", "Parent.Reference"}, "sort": []string{"Reference"}}
			if got, want := rows(t, base, query), of.Replace("E-2 |  | \nE-3 |  | E-2\nE-6 |  | \n"); got != want {
				t.Errorf("batch of %d: got\n%swant\n%s", batch, got, want)
			}
		}
	})
}
