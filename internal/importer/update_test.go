package importer_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/importer"
)

const updateMapping = `
key: key
type: kind
project: project
attributes:
  Name: title
  Description: text
  Estimate: points
  TaggedWith: {column: [tag, more], all: true}
  Owners: {column: owners, split: "/", unknown: leave out}
  Super: {column: epic, key: true, for: [Story], unknown: leave out}
  Dependencies: {column: needs, split: " ", key: true, later: true, for: [Story]}
comments: {column: said, all: true, date: ["2006-01-02"]}
`

// TestUpdate checks that an update makes an asset equal to what a new import of the file would
// create. Values that are no longer in the file are removed from lists, empty cells clear
// attributes, and new comments are added. Attributes without a column do not change, and no comment
// is removed.
func TestUpdate(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		write(t, base, `{"AssetType": "Member", "Name": "Bo", "Nickname": "Bo", "Username": "bo", "DefaultRole": "Role:4"}`)
		dir := t.TempDir()
		put(t, dir+"/map.yaml", updateMapping)
		o := importer.Options{URL: base, Format: "csv", File: dir + "/rows.csv", Project: "Scope:0", Update: true}
		query := map[string]any{"from": "Workitem", "find": "U-", "findin": []string{"Reference"}, "sort": []string{"Reference"}, "select": []string{
			"Reference", "Name", "Description", "PrimaryWorkitem.Estimate", "TaggedWith", "Owners.Username", "Scope.Name", "Super.Reference", "Dependencies.Reference", "MentionedInExpressions.Content",
		}}
		run := func(text, want string, counts importer.Counts) {
			t.Helper()
			put(t, o.File, text)
			got, said, err := bring(t, o, dir+"/map.yaml")
			if err != nil || got != counts {
				t.Fatalf("got %+v, want %+v, %v\n%s", got, counts, err, said)
			}
			if now := rows(t, base, query); now != want {
				t.Errorf("got\n%swant\n%s", now, want)
			}
		}
		const head = "key,kind,title,text,points,tag,more,owners,project,epic,needs,said,said\n"
		run(head+`U-1,Epic,all,,,,,,,,,,
U-2,Story,pay,by card,3,money,web,admin/bo,Shop,U-1,U-3 U-4,2026-01-02;admin;+1,2026-01-03;ann;when?
U-3,Story,ship,,1,,,,Shop,,,,
U-4,Story,pack,,,,,,Shop,,,,
`, `U-1 | all |  |  | [] | [] | System (All Projects) |  | [] | []
U-2 | pay | by card | 3 | [money web] | [admin bo] | Shop | U-1 | [U-3 U-4] | [+1 ann: when?]
U-3 | ship |  | 1 | [] | [] | Shop |  | [] | []
U-4 | pack |  |  | [] | [] | Shop |  | [] | []
`, importer.Counts{Records: 4, Created: 4})
		write(t, base, `{"AssetType": "Expression", "Content": "mine", "Mentions": {"from": "Story", "where": {"Reference": "U-2"}}, "BelongsTo": {"AssetType": "Conversation"}}`)
		run(head+`U-1,Epic,all,,,,,,,,,,
U-2,Story,pay now,,,,web,bo/nobody,,,U-5 U-4,2026-01-02;admin;+1,2026-01-04;bo;+1
U-5,Story,new,,,,,,,U-1,,,
`, `U-1 | all |  |  | [] | [] | System (All Projects) |  | [] | []
U-2 | pay now |  |  | [web] | [bo] | System (All Projects) |  | [U-4 U-5] | [+1 ann: when? mine +1]
U-3 | ship |  | 1 | [] | [] | Shop |  | [] | []
U-4 | pack |  |  | [] | [] | Shop |  | [] | []
U-5 | new |  |  | [] | [] | System (All Projects) | U-1 | [] | []
`, importer.Counts{Records: 3, Created: 1, Updated: 2})
		versions := map[string]any{"from": "Story", "where": map[string]any{"Reference": "U-2"}, "asof": "All", "select": []string{"Moment"}}
		before := rows(t, base, versions)
		run("key,kind,title,owners\nU-2,Story,pay now,bo\n", rows(t, base, query), importer.Counts{Records: 1, Updated: 1})
		if after := rows(t, base, versions); after != before {
			t.Errorf("an update without changes has created versions:\n%s", after)
		}
	})
}

// TestUpdateOfLines checks updates without a mapping. Null and an empty cell clear an attribute,
// except a password. Attributes that a record does not have do not change. Instead of a list, a
// record may also have a change with values to add and remove.
func TestUpdateOfLines(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		dir := t.TempDir()
		o := importer.Options{URL: base, Project: "Scope:0", Update: true}
		run := func(format, text string) {
			t.Helper()
			o.Format, o.File = format, dir+"/rows."+format
			put(t, o.File, text)
			if got, said, err := bring(t, o, ""); err != nil || got.Rejected > 0 {
				t.Fatalf("%+v, %v\n%s", got, err, said)
			}
		}
		run("jsonl", `{"AssetType": "Story", "Reference": "L-1", "Name": "one", "TaggedWith": ["a", "b"], "Estimate": 3, "Description": "x"}
{"AssetType": "Story", "Reference": "L-2", "Name": "two", "Dependencies": [{"Reference": "L-1"}, {"Reference": "L-3"}]}
{"AssetType": "Story", "Reference": "L-3", "Name": "three", "TaggedWith": ["a", "b"]}
`)
		run("jsonl", `{"AssetType": "Story", "Reference": "L-1", "TaggedWith": ["B", "c"], "Estimate": null}
{"AssetType": "Story", "Reference": "L-2", "Dependencies": {"Reference": "L-3"}, "TaggedWith": []}
{"AssetType": "Story", "Reference": "L-3", "TaggedWith": {"add": "c", "remove": "a"}}
`)
		query := map[string]any{"from": "Story", "select": []string{"Reference", "Name", "Description", "Estimate", "TaggedWith", "Dependencies.Reference"}, "sort": []string{"Reference"}}
		if got, want := rows(t, base, query), "L-1 | one | x |  | [b c] | []\nL-2 | two |  |  | [] | [L-3]\nL-3 | three |  |  | [b c] | []\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		run("csv", "AssetType,Reference,Name,TaggedWith,Description,Scope\nStory,L-1,one,c,,\n")
		if got, want := rows(t, base, query), "L-1 | one |  |  | [c] | []\n"; !strings.HasPrefix(got, want) {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		const members = "AssetType,Reference,Name,Nickname,Username,Password,DefaultRole\nMember,M-1,Bo,Bo,bo,%s,Role:4\n"
		run("csv", fmt.Sprintf(members, "a good one"))
		run("csv", fmt.Sprintf(members, ""))
		if got := rows(t, strings.Replace(base, "admin:of-the-test@", "bo:a%20good%20one@", 1), map[string]any{"from": "Member", "where": map[string]any{"IsSelf": true}, "select": []string{"Username"}}); got != "bo\n" {
			t.Errorf("login with the unchanged password: %s", got)
		}
	})
}

// TestALateComment checks that an update adds a comment only once, even if the request of an
// interrupted update reaches the service while the next update runs.
func TestALateComment(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		dir := t.TempDir()
		const mapping = "key: key\ntype: {default: Story}\nattributes: {Name: title}\ncomments: {column: said, date: [\"2006-01-02\"]}\n"
		put(t, dir+"/map.yaml", mapping)
		o := importer.Options{URL: base, Format: "csv", File: dir + "/rows.csv", Project: "Scope:0", Update: true, Patience: time.Minute}
		put(t, o.File, "key,title,said\nC-1,one,\n")
		if _, said, err := bring(t, o, dir+"/map.yaml"); err != nil {
			t.Fatal(err, said)
		}
		put(t, o.File, "key,title,said\nC-1,one,2026-01-02;admin;once\n")
		m, err := importer.ReadMapping(strings.NewReader(mapping))
		if err != nil {
			t.Fatal(err)
		}
		killed := newGate(t, base, 1, true, func() {})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-killed.held
			cancel()
		}()
		first := o
		first.URL, first.Out, first.Log = killed.url, io.Discard, io.Discard
		if _, err := importer.Run(ctx, first, m); err == nil {
			t.Fatal("the import was not interrupted")
		}
		arrives := sync.OnceFunc(func() {
			close(killed.released)
			<-killed.done
		})
		t.Cleanup(arrives)
		o.URL = newGate(t, base, 0, true, arrives).url
		if counts, said, err := bring(t, o, dir+"/map.yaml"); err != nil {
			t.Errorf("%+v, %v\n%s", counts, err, said)
		}
		if got := rows(t, base, map[string]any{"from": "Expression", "select": []string{"Content"}}); got != "once\n" {
			t.Errorf("comments:\n%s", got)
		}
	})
}
