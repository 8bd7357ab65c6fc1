package attack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// maxCost is how many bytes of memory a single request may add to the process. longestWait is how long a
// write of another client may wait while the request runs. Only the long tier compares longestWait.
const (
	maxCost     = 300 * mib
	longestWait = 3 * time.Second
)

// cost is a small request that causes much work.
type cost struct {
	name, path, media, body string
	admin                   bool // true: an administrator sends the request; false: a member who may not write
	want                    int
	says                    string // text that the answer must contain
	sqlite                  bool   // true: the test sends the request only on SQLite
}

// costs returns requests. Each of them once ended the process or kept other members waiting. long is the
// Oid of a story with a text of two million characters. many is the Oid of a story in a project with many
// stories.
func costs(long, many string) []cost {
	const (
		bulk  = "/api/asset"
		query = "/query.v1"
		over  = "too many "
	)
	numbers := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	same := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	replace := `{"from":"` + long + `","update":{"Description":{"find":"a","replace":"` + strings.Repeat("b", 100_000) + `"}}}`
	return []cost{
		{"a text that grows when it is replaced", bulk, "", replace, true, 200, "TooLong", false},
		{"a preview of it", bulk + "?previewOnly=true", "", replace, false, 200, "", false},
		{"aliases of a long text", bulk, "application/yaml", "a: &a " + strings.Repeat("x", mib) + "\nb: [" + strings.Repeat("*a, ", 1000) + "]", false, 400, "stand for more than", false},
		{"a text in one attribute many times", query, "", `{"from":"Story","find":"` + strings.Repeat("x", mib) + `","findin":[` + same(200, `"Name"`) + `]}`, false, 200, "", false},
		{
			"a list in many comparisons", query, "",
			`{"from":"Story","filter":[` + same(200, `"ID=$x"`) + `],"with":{"$x":[` + numbers(10_000, `"Story:%d",`) + `]}}`, false, 400, over, false,
		},
		{"operations with a list on all", bulk, "", `{"from":"Story","execute":{"op":"Copy","list":[` + same(8000, "{}") + `]}}`, true, 400, "touches more than", false},
		{"creates in an update of all", bulk, "", `{"from":"Story","update":{"Children":[` + same(500, `{"AssetType":"Task","Name":"T"}`) + `]}}`, true, 400, "touches more than", false},
		{"many tags", bulk, "", `{"from":"` + many + `","update":{"TaggedWith":{"add":[` + numbers(20_000, `"tag %d",`) + `]}}}`, true, 200, `"count":1`, false},
		{"many tags in place of many", bulk, "", `[{"from":"` + many + `","update":{"TaggedWith":{"remove":[` + numbers(20_000, `"tag %d",`) + `],"add":[` + numbers(20_000, `"tag %d",`) + `]}}}]`, true, 200, "", false},
		{"a message to many", bulk, "", `{"AssetType":"Message","Name":"M","Recipients":[` + same(40_000, `"Member:20"`) + `]}`, false, 200, "", false},
		{"guesses at an old password", bulk, "", "[" + numbers(60, `{"from":"Member","where":{"Username":"reader"},"update":{"Password":"another","OldPassword":"guess %d"}},`) + "]", false, 429, "", false},
		{"a long query in a write", bulk, "", `[{"AssetType":"Story","Name":"S","Scope":"Scope:0"},` + endless + `]`, true, 400, "took longer than", true},
		{"a long query in place of a value", bulk, "", `{"from":"` + many + `","update":{"Dependencies":{"add":` + endless + `}}}`, true, 400, "took longer than", true},
		{"long texts to sort by", query, "", `{"from":"Story","select":["Name"],"sort":["Description"]}`, false, 200, "", false},
		{"a long text to look for", query, "", `{"from":"Story","select":["Name"],"find":"` + strings.Repeat("a", 30_000) + `b"}`, false, 200, "", false},
		{"long texts for an agent", agentPath, "", agentCall("query", `{"from":"Story","where":{"Name":"long"},"select":["Description"],"size":500}`), false, 200, "too large", false},
		{"deep arguments of an agent", agentPath, "", agentCall("query", strings.Repeat(`{"where":`, 100_000)+"1"+strings.Repeat("}", 100_000)), false, 400, "", false},
		{"many arguments of an agent", agentPath, "", agentCall("query", `{"from":"Story","with":{`+numbers(200_000, `"$%d":1,`)+`}}`), false, 200, "", false},
		{"many commands of an agent", agentPath, "", agentCall("plan", `{"commands":[`+same(40_000, `{"from":"Story","update":{"Name":"x"}}`)+`]}`), true, 200, "isError", false},
		{"a long text copied many times", bulk, "", `{"from":"` + long + `","execute":{"op":"Copy","list":[` + same(200, "{}") + `]}}`, true, 400, "writes more than", false},
	}
}

// TestCosts sends small requests that cause much work, one at a time, while another client writes. It fails
// if a request ends the process, uses too much memory or keeps the other client waiting.
func TestCosts(t *testing.T) {
	onEach(t, setup{settings: []string{"ALDS_REQUEST_TIMEOUT=5m"}, short: "sqlite"}, func(t *testing.T, s *site) {
		var people []any
		for i := range owners {
			people = append(people, map[string]any{"AssetType": "Member", "Name": fmt.Sprintf("M%d", i), "Nickname": fmt.Sprintf("M%d", i), "DefaultRole": "Role:4"})
		}
		members := s.post(people)
		made := s.stories(depth(1000, 2000), func(i int) []string { return []string{members[i%owners], members[(i+7+i/owners%5)%owners]} })
		var texts []any
		for range depth(40, 80) {
			texts = append(texts, map[string]any{"AssetType": "Story", "Name": "long", "Scope": "Scope:0", "Description": strings.Repeat("a", mib)})
		}
		for len(texts) > 0 {
			n := min(20, len(texts))
			s.post(texts[:n])
			texts = texts[n:]
		}
		long := s.post([]any{map[string]any{"AssetType": "Story", "Name": "long", "Scope": "Scope:0", "Description": strings.Repeat("a", 2_000_000)}})[0]
		s.post([]any{map[string]any{
			"AssetType": "Member", "Name": "reader", "Nickname": "reader", "Username": "reader", "Password": passwordOf("reader"), "DefaultRole": "Role:8", "Scopes": "Scope:0",
		}})
		c := from(attacker)
		for _, one := range costs(long, made[0]) {
			if one.sqlite && s.command != "standalone" { // only on SQLite a write waits for all other writes
				continue
			}
			t.Run(one.name, func(t *testing.T) { s.bear(t, c, one, made[1]) })
		}
	})
}

// mostAssets is ALDS_MAX_ASSETS in TestReaches, the most assets that one command may change. reached is the
// number of assets that a command would change: the tasks of a story, or the stories with one tag.
const (
	mostAssets = 1000
	reached    = 1100
)

// reaches returns requests that change many more assets than they name. whole is the Oid of a story with
// 1,100 tasks, small that of a story with 30 tasks. 1,100 stories have the tag "old".
func reaches(whole, small, project string) []cost {
	const bulk, over = "/api/asset", "touches more than 1000 assets"
	part := func(start int) string {
		return fmt.Sprintf(`{"from":"Story","filter":["TaggedWith='old'"],"page":{"start":%d,"size":900}}`, start)
	}
	copies := strings.TrimSuffix(strings.Repeat("{},", 40), ",")
	return []cost{
		{"the stories of projects", bulk, "", `[{"from":"` + project + `","update":{"Workitems":{"add":` + part(0) + `}}},{"from":"Scope:0","update":{"Workitems":{"add":` + part(200) + `}}}]`, true, 400, over, false},
		{"the stories of each status", bulk, "", `{"from":"StoryStatus","update":{"PrimaryWorkitems":{"add":` + part(0) + `}}}`, true, 400, over, false},
		{"a story moved with its tasks", bulk, "", `{"from":"` + whole + `","update":{"Scope":"` + project + `"}}`, true, 400, over, false},
		{"a story closed with its tasks", bulk, "", `{"from":"` + whole + `","execute":"QuickClose"}`, true, 400, over, false},
		{"a story deleted with its tasks", bulk, "", `{"from":"` + whole + `","execute":"Delete"}`, true, 400, over, false},
		{"a story copied with its tasks", bulk, "", `{"from":"` + whole + `","execute":"Copy"}`, true, 400, over, false},
		{"a story copied forty times with its tasks", bulk, "", `{"from":"` + small + `","execute":{"op":"Copy","list":[` + copies + `]}}`, true, 400, over, false},
		{"a preview of them by a member who may not", bulk + "?previewOnly=true", "", `{"from":"` + small + `","execute":{"op":"Copy","list":[` + copies + `]}}`, false, 200, "Denied", false},
		{"a tag of all merged", "/api/tags/command/merge", "", `{"MergeTo":"new","MergeFrom":["old"]}`, true, 400, over, false},
		{"a tag of all removed", "/api/tags/command/remove", "", `{"removeFrom":["old"]}`, true, 400, over, false},
	}
}

// TestReaches sends requests of a few hundred bytes that name one asset but change all assets that belong
// to it. A request that would change more than ALDS_MAX_ASSETS assets must be refused. Without this limit
// such a request took half a minute.
func TestReaches(t *testing.T) {
	onEach(t, setup{settings: []string{"ALDS_REQUEST_TIMEOUT=5m", fmt.Sprint("ALDS_MAX_ASSETS=", mostAssets)}, short: "sqlite"}, func(t *testing.T, s *site) {
		project := s.post([]any{map[string]any{"AssetType": "Scope", "Name": "P", "Parent": "Scope:0", "BeginDate": "2026-01-01"}})[0]
		made := s.stories(3, nil)
		whole, small := made[0], made[1]
		fill := func(n int, each map[string]any) {
			for n > 0 {
				some := min(n, mostAssets/2)
				s.post(slices.Repeat([]any{each}, some))
				n -= some
			}
		}
		fill(reached, map[string]any{"AssetType": "Task", "Name": "T", "Parent": whole})
		fill(30, map[string]any{"AssetType": "Task", "Name": "T", "Parent": small})
		fill(reached, map[string]any{"AssetType": "Story", "Name": "S", "Scope": "Scope:0", "TaggedWith": []string{"old"}})
		s.post([]any{map[string]any{
			"AssetType": "Member", "Name": "reader", "Nickname": "reader", "Username": "reader", "Password": passwordOf("reader"), "DefaultRole": "Role:8", "Scopes": "Scope:0",
		}})
		c := from(attacker)
		for _, one := range reaches(whole, small, project) {
			t.Run(one.name, func(t *testing.T) { s.bear(t, c, one, made[2]) })
		}
		s.sound()
	})
}

// bear sends one request while another client writes. It fails the test if the process uses too much memory
// or if a write of the other client waits too long.
func (s *site) bear(t *testing.T, c *http.Client, one cost, story string) {
	t.Helper()
	s.proc.MustRun()
	if err := s.proc.ForgetPeak(); err != nil {
		t.Fatal(err)
	}
	before, _ := s.proc.Memory()
	ctx, stop := context.WithCancel(t.Context())
	var longest atomic.Int64
	wait := flood(ctx, 1, 10*time.Millisecond, func(_, n int) {
		began := time.Now()
		status, answer, err := s.ask(t.Context(), s.client, "admin:"+adminPassword, http.MethodPost, "/api/asset", []byte(`{"from":"`+story+`","update":{"Reference":"`+strconv.Itoa(n)+`"}}`))
		if err != nil || status != http.StatusOK {
			t.Errorf("a write of another member: %d %.200s %v", status, answer, err)
		}
		longest.Store(max(longest.Load(), int64(time.Since(began))))
	})
	who := "reader:" + passwordOf("reader")
	if one.admin {
		who = "admin:" + adminPassword
	}
	began := time.Now()
	status, answer := s.sendCost(t, c, who, one)
	took := time.Since(began)
	stop()
	wait()
	s.proc.MustRun()
	_, most := s.proc.Memory()
	t.Logf("%d in %s, %d bytes: %.150s; %d MiB above rest; the longest write of another took %s",
		status, took.Round(time.Millisecond), len(one.body), answer, (most-before)/mib, time.Duration(longest.Load()).Round(time.Millisecond))
	if status != one.want || !strings.Contains(string(answer), one.says) {
		t.Errorf("answered %d %.500s, want %d with %q", status, answer, one.want, one.says)
	}
	if most-before > maxCost {
		t.Errorf("the process held %d MiB above rest, allowed are %d", (most-before)/mib, maxCost/mib)
	}
	if wait := time.Duration(longest.Load()); !testing.Short() && wait > longestWait {
		t.Errorf("a write of another member took %s, allowed are %s", wait, longestWait)
	}
}

// sendCost sends a request. The media type is JSON unless the request has a media type.
func (s *site) sendCost(t *testing.T, c *http.Client, who string, one cost) (status int, answer []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url(one.path), strings.NewReader(one.body))
	if err != nil {
		t.Fatal(err)
	}
	name, password, _ := strings.Cut(who, ":")
	req.SetBasicAuth(name, password)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept(one.path))
	if one.media != "" {
		req.Header.Set("Content-Type", one.media)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if answer, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}
