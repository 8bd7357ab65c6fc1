package faulttest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
	schema "github.com/alds-dev/alds/sql"
)

var olderCommit = flag.String("faults.older", "", "a commit whose build is to work with what this one stores, in place of those that say so")

// TestAnOlderBuildReadsWhatThisOneWrites compares this build with each older build that the migrations
// declare as compatible. Both must give the same answers, no matter which of them has written the data. The
// older builds are the tags from the oldest declared release on, and the first commit with the release
// number of this build. That commit counts as the same release as all later builds with this number.
func TestAnOlderBuildReadsWhatThisOneWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: builds older releases, and compares their answers")
	}
	commits := []string{*olderCommit}
	if *olderCommit == "" {
		commits = olderCommits(t)
	}
	for _, commit := range commits {
		t.Run(commit, func(t *testing.T) {
			p := newPair(t, commit)
			p.write(0)
			p.upgrade()
			p.write(1)
			p.write(0)
			p.write(1)
			p.compare()
			if status, text := p.said("", "check"); status != 0 {
				t.Errorf("api check: status %d\n%s", status, text)
			}
		})
	}
}

// git runs a git command in this repository and returns the words of its output. If the repository has no
// history, the test is skipped, or fails with REQUIRE_SERVICES=1.
func git(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", testdb.Root(t)}, args...)...) //nolint:gosec // arguments of the test
	out, err := cmd.Output()
	if err != nil {
		if os.Getenv("REQUIRE_SERVICES") == "1" {
			t.Fatalf("the history of the repository is required: git %v: %v", args, err)
		}
		t.Skipf("the history of the repository is not here, so no older build is tried: git %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

// olderCommits returns the commits whose builds must work with the current migrations.
func olderCommits(t *testing.T) []string {
	t.Helper()
	steps, err := schema.Migrations("mysql")
	if err != nil {
		t.Fatal(err)
	}
	oldest := int64(0)
	for _, m := range steps {
		oldest = max(oldest, release.Rank(m.Oldest))
	}
	var commits []string
	for _, tag := range git(t, "tag", "--list", "v*") {
		if rank := release.Rank(strings.TrimPrefix(tag, "v")); rank >= oldest && rank < release.Rank(release.Number) {
			commits = append(commits, tag)
		}
	}
	ofNumber := git(t, "log", "--format=%H", `-SNumber = "`+release.Number+`"`, "--", "internal/base/release/release.go")
	if len(ofNumber) == 0 {
		t.Fatalf("no commit has the number %s", release.Number)
	}
	return append(commits, ofNumber[len(ofNumber)-1])
}

// pair is an installation with two apis: bases[0] is an api of an older build, and bases[1] is an api of
// this build.
type pair struct {
	*rolled
	older  string // folder with the commands of the older build
	bases  []string
	oids   []string // Oids of the assets that the test has written
	writes int
}

func newPair(t *testing.T, commit string) *pair {
	t.Helper()
	p := &pair{rolled: &rolled{site: &site{t: t, mysql: testdb.EmptyURL(t, "mysql"), logs: &testproc.Log{}}}}
	tree := t.TempDir()
	archive := filepath.Join(t.TempDir(), "tree.tar")
	git(t, "archive", "--format=tar", "--output="+archive, commit)
	if out, err := exec.Command("tar", "-xf", archive, "-C", tree).CombinedOutput(); err != nil { //nolint:gosec // folders of the test
		t.Fatalf("%v: %s", err, out)
	}
	p.older = testproc.BuildTree(t, tree, "api")
	p.env = append(os.Environ(), "DATABASE_URL="+p.mysql, "REDIS_URL="+testdb.Redis(t), "ALDS_PUBLIC_URL=http://alds.example.org",
		"ALDS_ADMIN_PASSWORD="+adminPassword, "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=", "ALDS_LOG_LEVEL=warn")
	if status, text := p.said(p.older, "migrate"); status != 0 {
		t.Fatalf("the older migrate: %s", text)
	}
	p.serve(p.older)
	return p
}

// serve starts an api of the build whose commands are in dir. If dir is empty, that is this build.
func (p *pair) serve(dir string) {
	p.t.Helper()
	addr, admin := testproc.FreeAddr(p.t), testproc.FreeAddr(p.t)
	p.run(dir, p.logs, []string{"ALDS_ADDR=" + addr, "ALDS_ADMIN_ADDR=" + admin}, "api")
	p.mustBe(admin, http.StatusOK, "api")
	p.bases = append(p.bases, "http://"+addr+"/alds")
}

// upgrade migrates the database with this build. migrate --check must first report that the older build
// will still work.
func (p *pair) upgrade() {
	p.t.Helper()
	status, text := p.said("", "migrate", "--check")
	if status != 0 || !strings.Contains(text, "all go on") && !strings.Contains(text, "no migration is missing") {
		p.t.Fatalf("migrate --check refuses the older build: status %d\n%s", status, text)
	}
	if status, text := p.said("", "migrate"); status != 0 {
		p.t.Fatalf("migrate: status %d\n%s", status, text)
	}
	p.serve("")
}

// ask sends a request to one of the two apis. The parameter of is the index in bases: 0 is the older api.
func (p *pair) ask(of int, method, path string, body any) (status int, text string) {
	p.t.Helper()
	var b []byte
	if body != nil {
		b, _ = json.Marshal(body) //nolint:errchkjson // a body of the test
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.bases[of]+path, bytes.NewReader(b))
	if err != nil {
		p.t.Fatal(err)
	}
	req.SetBasicAuth("admin", adminPassword)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

// must sends commands to one of the two apis. All commands must succeed.
func (p *pair) must(of int, commands ...any) bulk {
	p.t.Helper()
	var b bulk
	status, text := p.ask(of, http.MethodPost, "/api/asset", commands)
	if err := json.Unmarshal([]byte(text), &b); err != nil || status != http.StatusOK || b.CommandFailures.Count > 0 {
		p.t.Fatalf("%v: %d: %.1000s", commands, status, text)
	}
	return b
}

// write creates assets and changes the existing assets, at one of the two apis. The values are stored in
// all possible ways: in columns, in JSON, as separate texts, in case-folded form, and as links, tags and
// contents.
func (p *pair) write(of int) {
	p.t.Helper()
	p.writes++
	long := func(what string) string {
		return strings.Repeat(fmt.Sprintf("Ein längerer %s, Fassung %d. ", what, p.writes), 60)
	}
	for i, oid := range p.oids {
		if !strings.HasPrefix(oid, "Story:") {
			continue
		}
		// The first update does not change Description.
		p.must(of, map[string]any{"from": oid, "update": map[string]any{"Name": fmt.Sprintf("Name %d", p.writes)}})
		p.must(of, map[string]any{"from": oid, "update": map[string]any{"Reference": long("Verweis")[:200], "Estimate": p.writes, "TaggedWith": map[string]any{"add": fmt.Sprint("tag", p.writes), "remove": "a"}}})
		if i%2 == 0 {
			p.must(of, map[string]any{"from": oid, "update": map[string]any{"Description": long("Text"), "Owners": map[string]any{"add": "Member:20"}}})
		}
		p.must(of, map[string]any{"from": oid, "execute": "Inactivate"}, map[string]any{"from": oid, "execute": "Reactivate"})
	}
	made := p.must(of,
		map[string]any{"@scope": map[string]any{"AssetType": "Scope", "Name": fmt.Sprint("Project ", p.writes), "Parent": "Scope:0", "BeginDate": "2026-01-01", "Description": long("Plan")}},
		map[string]any{"AssetType": "Story", "Name": "A", "Scope": "@scope", "Description": long("Text"), "TaggedWith": []string{"a", "b"}, "Children": []any{map[string]any{"AssetType": "Task", "Name": "T", "Description": long("Schritt")}}},
		map[string]any{"AssetType": "Story", "Name": "B", "Scope": "@scope", "Description": long("Text"), "Owners": "Member:20"},
		map[string]any{"AssetType": "Image", "ContentType": "image/png", "Content": "YQ=="})
	for _, token := range made.AssetsCreated.OIDTokens {
		parts := strings.Split(token, ":")
		p.oids = append(p.oids, parts[0]+":"+parts[1])
	}
}

// compare sends the same queries to both apis, about current and past values. Both must give the same
// answers.
func (p *pair) compare() {
	p.t.Helper()
	selected := map[string]string{"Story": "Name,Description,Reference,Estimate,Owners.Name,TaggedWith,Scope.Name,Children.Description,AssetState", "Task": "Name,Description,Parent.Description", "Scope": "Name,Description,Workitems.Name", "Image": "ContentType,Content"}
	type question struct {
		method, path string
		body         any
	}
	all := []question{
		{http.MethodPost, "/query.v1", map[string]any{"from": "Story", "select": []string{"Name", "Description", "Reference", "TaggedWith"}, "find": "LÄNGERER", "sort": []string{"ID"}}},
		{http.MethodPost, "/query.v1", map[string]any{"from": "Story", "select": []string{"Name"}, "where": map[string]any{"TaggedWith": "tag2"}, "sort": []string{"ID"}}},
		{http.MethodGet, "/api/tags/all", nil},
		{http.MethodGet, "/api/changes?after=0&from=Story&select=Name,Description,Reference&page=500", nil},
	}
	for _, oid := range p.oids {
		kind, id, _ := strings.Cut(oid, ":")
		all = append(all,
			question{http.MethodGet, "/rest-1.v1/Data/" + kind + "/" + id + "?sel=" + selected[kind], nil},
			question{http.MethodGet, "/rest-1.v1/Hist/" + kind + "/" + id + "?sel=" + selected[kind], nil})
		if kind != "Image" {
			all = append(all, question{http.MethodGet, "/api/ActivityStream/" + oid + "?maxCount=100", nil})
		}
	}
	for _, q := range all {
		p.same(q.method, q.path, q.body)
	}
	if p.oids = slices.Compact(p.oids); len(p.oids) < 16 {
		p.t.Errorf("only %d assets were made", len(p.oids))
	}
}

// same sends a request to both apis and fails the test if the answers differ. For api/changes it repeats
// the requests for a while, because a new change may appear in the feed between the two requests.
func (p *pair) same(method, path string, body any) {
	p.t.Helper()
	var answers [2]string
	for until := time.Now().Add(testproc.AnswersIn); ; time.Sleep(100 * time.Millisecond) {
		for of := range answers {
			status, text := p.ask(of, method, path, body)
			if status != http.StatusOK {
				p.t.Fatalf("%s %s: %d: %.500s", method, path, status, text)
			}
			answers[of] = text
		}
		if answers[0] == answers[1] {
			return
		}
		if time.Now().After(until) || !strings.Contains(path, "api/changes") {
			break
		}
	}
	at := 0
	for at < min(len(answers[0]), len(answers[1])) && answers[0][at] == answers[1][at] {
		at++
	}
	part := func(text string) string { return text[max(0, at-200):min(len(text), at+200)] }
	p.t.Errorf("%s %s is answered otherwise by the older build:\n%s\nand by this one:\n%s", method, path, part(answers[0]), part(answers[1]))
}
