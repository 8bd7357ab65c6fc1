package costtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/test/testproc"
)

const (
	adminPassword = "the cost test's own password"
	mib           = 1 << 20
)

// world describes the initial assets of a database.
type world struct {
	oids   map[string][]string // Oids by type
	all    []string
	heavy  []string // Oids of assets that have many related assets or a long text
	made   []string // names of the types that requests create
	people []string // usernames of the members who send requests, one for each role
	tokens map[string]string
	hooks  []string
	writes []string // ids of the requests that made the initial assets

	texts     string   // Oid of a project with many stories, some of which have long texts
	plans     []string // ids of plans of the administrator
	proposals []string // Oids of proposals
	kept      []string // ids of the plans of these proposals

	moments map[string]string // by Oid: moment of the current version

	besideStory struct{ oid, key string } // the story that the second member reads and writes
}

// typeOf returns the type of the asset with an Oid.
func typeOf(o string) *meta.Type {
	name, _, _ := strings.Cut(o, ":")
	t, _ := model.Type(name)
	return t
}

func escaped(path string) string { return url.PathEscape(path) }

// service is a running process with its database.
type service struct {
	t            *testing.T
	proc         *testproc.Process
	base, counts string
	client       *http.Client
	w            *world
	server       *server // nil for SQLite
}

// Values of ALDS_REQUEST_TIMEOUT.
const (
	mayTake     = "5s"
	mayTakeLess = "2s" // for three of four services of a long run, because most of its time is spent in requests that reach the limit
	mayTakeFill = "5m" // when the initial assets are created, so that no request times out on a busy machine
)

// start starts the service. If the parameter on is not nil, the service uses that database server, and name
// is the name of the database. Otherwise the service uses a SQLite file in the folder dir.
func start(t *testing.T, dir string, on *server, name string, w *world, limit string) *service {
	t.Helper()
	addr, counts := testproc.FreeAddr(t), testproc.FreeAddr(t)
	s := &service{t: t, base: "http://" + addr + "/alds", counts: counts, client: &http.Client{Timeout: giveUp, Transport: &http.Transport{}}, w: w, server: on}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	database := "sqlite:" + filepath.Join(dir, "alds.db")
	if on != nil {
		database = on.url + "/" + name
	}
	var log io.Writer
	if os.Getenv(showsSQL) != "" {
		log = os.Stderr
	}
	s.proc = testproc.Start(t, testproc.Options{Log: log, Dir: filepath.Dir(program), Env: append(os.Environ(),
		countsAt+"="+counts, "ALDS_ADDR="+addr, "ALDS_ADMIN_ADDR="+testproc.FreeAddr(t), "ALDS_ADMIN_PASSWORD="+adminPassword, "ALDS_DATA_DIR="+dir,
		"ALDS_LOG_LEVEL=error", "ALDS_BODY_MEMORY=128MiB", "ALDS_REQUEST_TIMEOUT="+limit, "ALDS_MAX_ASSETS=2000", "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=", "DATABASE_URL="+database,
	)}, filepath.Base(program))
	if !testproc.Becomes(t.Context(), s.base, 0) {
		t.Fatal("the service does not answer")
	}
	return s
}

// stop stops the process with SIGTERM and waits until it has ended.
func (s *service) stop() {
	s.client.CloseIdleConnections()
	s.proc.Stop()
}

// ask sends a request as the administrator and decodes the answer. The request must succeed.
func (s *service) ask(method, path string, body, into any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.as("admin", adminPassword, method, path, "application/json", text, into)
}

func (s *service) as(name, password, method, path, media string, body []byte, into any) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth(name, password)
	req.Header.Set("Content-Type", media)
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %d %.500s %v", method, path, res.StatusCode, answer, err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			s.t.Fatalf("%s %s: %.500s %v", method, path, answer, err)
		}
	}
}

type attrs = map[string]any

// create creates n assets of a type and returns their Oids.
func (s *service) create(typ string, n int, values func(i int) attrs) []string {
	s.t.Helper()
	var commands []attrs
	for i := range n {
		a := values(i)
		a["AssetType"] = typ
		commands = append(commands, a)
	}
	var done struct {
		RequestID       string
		AssetsCreated   struct{ OidTokens []string }
		CommandFailures struct {
			Count    int
			Commands []json.RawMessage
		}
	}
	s.ask("POST", "/api/asset", commands, &done)
	if done.CommandFailures.Count > 0 {
		s.t.Fatalf("%s: %.500s", typ, done.CommandFailures.Commands)
	}
	s.w.writes = append(s.w.writes, done.RequestID)
	s.w.oids[typ] = append(s.w.oids[typ], done.AssetsCreated.OidTokens...)
	return done.AssetsCreated.OidTokens
}

// fill creates the initial assets: nested projects, stories, members of every role, and subscriptions. Some
// of the stories have many related assets or long texts.
func (s *service) fill() {
	w := s.w
	w.oids["Scope"], w.oids["Member"] = []string{"Scope:0"}, []string{"Member:20"}
	parent := "Scope:0"
	for i := range 8 {
		parent = s.create("Scope", 1, func(int) attrs {
			return attrs{"Name": fmt.Sprintf("P%d", i), "Parent": parent, "BeginDate": "2026-01-01"}
		})[0]
	}
	projects := w.oids["Scope"]
	project := func(i int) string { return projects[1+i%(len(projects)-1)] }
	for role := range 13 {
		name := "role" + strconv.Itoa(role)
		s.create("Member", 1, func(int) attrs {
			return attrs{"Name": name, "Nickname": name, "Username": name, "Password": "password of " + name, "DefaultRole": "Role:" + strconv.Itoa(role), "Scopes": projects[:2]}
		})
		w.people = append(w.people, name)
	}
	members := s.create("Member", 30, func(i int) attrs {
		return attrs{"Name": fmt.Sprintf("M%d", i), "Nickname": fmt.Sprintf("M%d", i), "DefaultRole": "Role:4", "Scopes": project(i)}
	})
	epics := s.create("Epic", 8, func(i int) attrs { return attrs{"Name": fmt.Sprintf("Epic %d", i), "Scope": project(i)} })
	s.create("Goal", 5, func(i int) attrs { return attrs{"Name": fmt.Sprintf("Goal %d", i), "Scope": project(i)} })
	s.create("Theme", 5, func(i int) attrs { return attrs{"Name": fmt.Sprintf("Theme %d", i), "Scope": project(i)} })
	stories := s.create("Story", 400, func(i int) attrs {
		a := attrs{"Name": fmt.Sprintf("Story %d", i), "Scope": project(i), "Super": epics[i%8], "Estimate": i % 13, "Owners": []string{members[i%30], members[(i+7)%30]}, "TaggedWith": []string{"tag", fmt.Sprintf("tag%d", i%40)}}
		if i < 40 {
			a["Description"] = strings.Repeat("a text of some length ", 200)
		}
		return a
	})
	for i, text := range []string{strings.Repeat("a", 2*mib), strings.Repeat("ab ", 100_000), strings.Repeat("ab ", 100_000), strings.Repeat("ab ", 100_000), strings.Repeat("x", 100_000)} {
		w.heavy = append(w.heavy, s.create("Story", 1, func(int) attrs {
			return attrs{"Name": "long", "Scope": project(i), "Description": text}
		})...)
	}
	w.texts = s.create("Scope", 1, func(int) attrs { return attrs{"Name": "Texts", "Parent": "Scope:0", "BeginDate": "2026-01-01"} })[0]
	for range 6 {
		s.create("Story", 1, func(int) attrs {
			return attrs{"Name": "text", "Scope": w.texts, "Description": strings.Repeat("a long text ", 300_000)}
		})
	}
	s.create("Story", 60, func(i int) attrs { return attrs{"Name": fmt.Sprintf("short %d", i), "Scope": w.texts} })
	s.create("Defect", 60, func(i int) attrs {
		return attrs{"Name": fmt.Sprintf("Defect %d", i), "Scope": project(i), "AffectedPrimaryWorkitems": stories[:i%5]}
	})
	s.create("Task", 400, func(i int) attrs { return attrs{"Name": fmt.Sprintf("Task %d", i), "Parent": stories[i/200]} })
	s.create("Test", 100, func(i int) attrs { return attrs{"Name": fmt.Sprintf("Test %d", i), "Parent": stories[2+i%3]} })
	hub := s.create("Story", 1, func(int) attrs {
		return attrs{"Name": "hub", "Scope": project(0), "Dependencies": stories[10:310], "Owners": members}
	})
	w.heavy = slices.Concat(w.heavy, hub, stories[:5], epics[:2], projects[:3], members[:1])
	s.create("Note", 60, func(i int) attrs {
		return attrs{"Name": "Note", "Content": strings.Repeat("n", 1000), "Asset": stories[i%2]}
	})
	s.create("Link", 20, func(i int) attrs { return attrs{"Name": "Link", "URL": "https://example.com", "Asset": stories[i%2]} })
	s.create("Expression", 60, func(int) attrs { return attrs{"Content": "said", "Author": members[0], "Mentions": stories[:3]} })
	s.create("Message", 5, func(int) attrs { return attrs{"Name": "Message", "Recipients": members} })
	s.create("RegressionSuite", 1, func(int) attrs {
		return attrs{"Name": "Suite", "RegressionPlan": s.create("RegressionPlan", 1, func(int) attrs { return attrs{"Name": "Plan", "Scope": project(0)} })[0]}
	})
	s.create("RegressionTest", 100, func(i int) attrs {
		return attrs{"Name": fmt.Sprintf("Test %d", i), "Scope": project(0), "RegressionSuites": w.oids["RegressionSuite"]}
	})
	s.create("TestSet", 3, func(int) attrs {
		return attrs{"Name": "Set", "Scope": project(0), "RegressionSuite": w.oids["RegressionSuite"][0]}
	})
	w.heavy = append(w.heavy, w.oids["TestSet"][0], w.oids["RegressionSuite"][0])
	s.create("Schedule", 1, func(int) attrs { return attrs{"Name": "Schedule", "TimeboxLength": "2 Weeks", "TimeboxGap": "0 Days"} })
	s.create("Timebox", 3, func(i int) attrs {
		return attrs{"Name": "Sprint", "Schedule": w.oids["Schedule"][0], "BeginDate": "2026-0" + strconv.Itoa(i+1) + "-01", "EndDate": "2026-0" + strconv.Itoa(i+1) + "-15", "State": "State:100"}
	})
	s.create("Attachment", 3, func(i int) attrs {
		return attrs{"Name": "File", "Asset": stories[i], "Filename": "a.png", "ContentType": "image/png", "Content": ""}
	})
	for range 60 { // each update creates a version
		s.ask("POST", "/api/asset", attrs{"from": stories[0], "update": attrs{"Reference": strconv.FormatInt(time.Now().UnixNano(), 10)}}, nil)
	}
	for _, a := range []attrs{
		{"type": "AssetChanged", "from": "Story", "select": []string{"Name", "Scope.Name", "Owners.Name", "Children.Name"}},
		{"type": "AssetChanged", "from": "Workitem", "select": []string{"Name", "Description"}},
		{"type": "AssetChanged", "from": "BaseAsset", "select": []string{"ID"}},
	} {
		var made struct{ ID string }
		s.ask("POST", "/api/webhook", attrs{"url": "http://127.0.0.1:1/", "eventTypes": []attrs{a}}, &made)
		w.hooks = append(w.hooks, made.ID)
	}
	s.propose(stories)
	s.create("Member", 1, func(int) attrs {
		return attrs{"Name": secondMember, "Nickname": secondMember, "Username": secondMember, "Password": "password of " + secondMember, "DefaultRole": "Role:1", "Scopes": projects[:2]}
	})
	w.besideStory.oid = s.create("Story", 1, func(int) attrs { return attrs{"Name": "beside", "Scope": "Scope:0"} })[0]
	_, w.besideStory.key, _ = strings.Cut(w.besideStory.oid, ":")
	for name, password := range s.w.passwords() {
		var made struct{ Token string }
		s.as(name, password, "POST", "/api/tokens", "application/json", []byte(`{"session":true}`), &made)
		w.tokens[name] = made.Token
	}
	w.made = strings.Fields(`Story Story Story Defect Epic Task Task Test Theme Goal Issue Request Note Link Actual Scope Conversation Expression ChangeSet BuildRun
		Retrospective TestSet Message Member Timebox RegressionSuite RegressionTest Environment BuildProject Schedule Team StoryStatus Attachment`)
	s.learnMoments()
	for _, o := range slices.Concat(stories[:5], w.oids["Story"][400:]) { // so that heavy assets are chosen more often
		for range 15 {
			w.oids["Story"] = append(w.oids["Story"], o)
		}
	}
	for _, typ := range slices.Sorted(keys(w.oids)) {
		w.all = append(w.all, w.oids[typ]...)
	}
}

// learnMoments reads the moment of each asset, because the forms of pages contain moments.
func (s *service) learnMoments() {
	var rows [][]struct {
		OID    string `json:"_oid"`
		Moment json.Number
	}
	s.ask("POST", "/query.v1", attrs{"from": "BaseAsset", "select": []string{"Moment"}}, &rows)
	for _, r := range rows[0] {
		s.w.moments[r.OID] = r.Moment.String()
	}
}

// passwords returns the passwords of all members who send requests. The key is the username.
func (w *world) passwords() map[string]string {
	all := map[string]string{"admin": adminPassword, secondMember: "password of " + secondMember}
	for _, name := range w.people {
		all[name] = "password of " + name
	}
	return all
}

func keys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// copyTo copies a database folder to a new folder and returns the new folder. The database must be closed.
func copyTo(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}
