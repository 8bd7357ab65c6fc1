package torture

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	count "sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

var pairs = flag.Int("torture.pairs", 0, "at least how many pairs there are of a write and a read with a replica that lags, and of a write and one on another node that names what it made; 0: 64 with -short, else 500")

const (
	// lags is how many seconds after the writer the replica executes a write. It is always at least one
	// second.
	lags = 2

	writers = 8 // number of members who write and read
)

// much returns how many pairs of a write and a read the test makes at least, and for how long at least. One
// of lateEach pairs waits with its read until the replica has the write.
func much() (atLeast int, during time.Duration, lateEach int) {
	if testing.Short() {
		return cmp.Or(*pairs, 64), 0, 12
	}
	return cmp.Or(*pairs, 500), 8 * time.Second, 50
}

// TestReadsElsewhere runs two apis that query a replica. The replica is more than a second behind the
// writer.
func TestReadsElsewhere(t *testing.T) {
	t.Parallel()
	s := newReplicated(t)
	for _, c := range []struct {
		name string
		run  func(*replicated)
	}{
		{"own writes are found", ownWrites},
		{"eventual reads are those of the replica", eventualReads},
		{"the rest is the writer's", theRest},
		{"the replica is killed", replicaIsKilled},
		{"the replica stands still", replicaStandsStill},
	} {
		t.Run(c.name, func(t *testing.T) { s.t = t; c.run(s) })
	}
}

// replicated is two apis and a worker that use a writer and its replica.
type replicated struct {
	*testdb.Replica
	t       *testing.T
	base    [apis]string
	admin   [apis]string
	members []string // usernames of the members who write
	serial  count.Int64
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	s := &replicated{Replica: testdb.Replicated(t, lags), t: t}
	s.CreateDatabase("alds")
	env := append(os.Environ(), "REDIS_URL="+testdb.OwnRedis(t).URL, "ALDS_ADMIN_PASSWORD="+adminPassword,
		"ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=", "ALDS_LOG_LEVEL=warn", "ALDS_WEBHOOK_ALLOW_PRIVATE=1",
		"DATABASE_URL="+s.Writer.URL+"/alds", "DATABASE_READ_URL="+s.URL+"/alds")
	start := func(more []string, name string, args ...string) *testproc.Process {
		return testproc.Start(t, testproc.Options{Env: append(slices.Clone(env), more...)}, name, args...)
	}
	start(nil, "api", "migrate").Wait()
	s.CatchUp()
	for i := range apis {
		at := [2]string{testproc.FreeAddr(t), testproc.FreeAddr(t)}
		s.base[i], s.admin[i] = "http://"+at[0]+"/alds", "http://"+at[1]
		start([]string{"ALDS_ADDR=" + at[0], "ALDS_ADMIN_ADDR=" + at[1]}, "api")
	}
	start(nil, "worker")
	for _, url := range s.base {
		if !testproc.Becomes(t.Context(), url, 0) {
			t.Fatal("an api does not answer")
		}
	}
	for i := range writers {
		name := fmt.Sprint("writer", i)
		s.members = append(s.members, name)
		s.must(0, "admin", object{"AssetType": "Member", "Name": name, "Nickname": name, "Username": name, "Password": adminPassword, "DefaultRole": "Role:1"})
	}
	s.await("the replica is in use", func() bool { return s.metric("alds_app_db_replica_up", "") == apis })
	return s
}

// askOnce sends a request as a member to the api with the index i, and returns the answer. header has names
// and values in turn.
func (s *replicated) askOnce(i int, member, method, path string, body any, header ...string) answer {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	req, err := http.NewRequest(method, s.base[i]+path, bytes.NewReader(text)) //nolint:noctx // an api answers in time
	if err != nil {
		panic(err)
	}
	req.SetBasicAuth(member, adminPassword)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	for k := 0; k < len(header); k += 2 {
		req.Header.Set(header[k], header[k+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{text: []byte(err.Error())}
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode}
	a.text, _ = io.ReadAll(res.Body) // if a part of the answer is missing, the checks fail
	_ = json.Unmarshal(a.text, &a.bulk)
	return a
}

// ask does the same as askOnce. While too many members log in at once, it repeats the request.
func (s *replicated) ask(i int, member, method, path string, body any, header ...string) answer {
	a := s.askOnce(i, member, method, path, body, header...)
	for until := time.Now().Add(quietIn); a.status == http.StatusTooManyRequests && time.Now().Before(until); {
		time.Sleep(time.Second)
		a = s.askOnce(i, member, method, path, body, header...)
	}
	return a
}

// must sends a command and returns the Oids of the created assets. The command must succeed.
func (s *replicated) must(i int, member string, command object) []string {
	a := s.ask(i, member, http.MethodPost, "/api/asset", command)
	if !a.done() {
		s.t.Errorf("%v: %d: %.300s", command, a.status, a.text)
	}
	return a.bulk.AssetsCreated.OIDTokens
}

// mark returns a text that no asset has yet. The parameter of is the beginning of the text.
func (s *replicated) mark(of string) string { return fmt.Sprintf("%s-%06d", of, s.serial.Add(1)) }

// shows reads an asset in one of four ways. It returns true if the answer has the expected Reference.
func (s *replicated) shows(i int, member string, way int, oid, reference string, header ...string) bool {
	q := object{"from": oid, "select": []string{"Reference"}}
	var a answer
	switch way % 4 {
	case 0:
		a = s.ask(i, member, http.MethodPost, "/query.v1", q, header...)
	case 1:
		a = s.ask(i, member, http.MethodGet, "/rest-1.v1/Data/"+strings.Replace(oid, ":", "/", 1)+"?sel=Reference", nil, header...)
	case 2:
		a = s.ask(i, member, http.MethodPost, "/api/asset", q, header...)
	case 3: // several queries in one snapshot
		a = s.ask(i, member, http.MethodPost, "/query.v1", []object{q, {"from": "Scope", "select": []string{"Name"}, "page": object{"start": 0, "size": 1}}}, header...)
	}
	if a.status != http.StatusOK && (a.status != http.StatusNotFound || way%4 != 1) {
		s.t.Errorf("a read was answered %d: %.300s", a.status, a.text)
	}
	return bytes.Contains(a.text, []byte(reference))
}

// ownWrites lets members write through one api and read through the other. Every read must find the write.
// Meanwhile another member reads, see follow.
func ownWrites(s *replicated) {
	before := s.counts()
	atLeast, during, lateEach := much()
	var missed, late count.Int64
	var tried count.Int64
	var wait sync.WaitGroup
	began := time.Now()
	for n, member := range s.members {
		wait.Go(func() {
			oid := s.must(n%apis, member, object{"AssetType": "Story", "Name": member, "Scope": "Scope:0"})[0]
			for k := n; tried.Load() < int64(atLeast) || time.Since(began) < during; k++ {
				tried.Add(1)
				to, mark := k%apis, s.mark(member)
				if k%5 == 0 {
					oid = s.must(to, member, object{"AssetType": "Story", "Name": member, "Scope": "Scope:0", "Reference": mark})[0]
				} else {
					s.must(to, member, change(oid, object{"Reference": mark}))
				}
				if k%lateEach == lateEach-1 {
					late.Add(1)
					s.CatchUp()
				}
				if !s.shows(1-to, member, k/2, oid, mark) {
					missed.Add(1)
				}
			}
		})
	}
	stop := make(chan struct{})
	followed, old := make(chan struct{}), 0
	go func() { defer close(followed); old = s.follow(stop) }()
	wait.Wait()
	lasted := time.Since(began)
	close(stop)
	<-followed
	s.t.Logf("of %d writes %d were not found by who made them, %d of them were looked for when the replica had them; in %s, reads: %s",
		tried.Load(), missed.Load(), late.Load(), lasted.Round(time.Millisecond), s.since(before))
	if missed.Load() > 0 || late.Load() == 0 {
		s.t.Errorf("%d own writes were missed; %d pairs were late", missed.Load(), late.Load())
	}
	if old == 0 || s.counts()["replica"] == before["replica"] {
		s.t.Errorf("%d old values were seen: the replica does not lag, or nobody reads from it", old)
	}
}

// followedAtLeast is how often follow reads at least.
const followedAtLeast = 12

// follow writes a value as the administrator and reads it as another member, through both apis in turn. It
// returns how often the value that it read was older than the value written last. A value must never be
// older than a value that was read before.
func (s *replicated) follow(stop chan struct{}) (old int) {
	s.must(0, "admin", object{"AssetType": "Member", "Name": "reader", "Nickname": "reader", "Username": "reader", "Password": adminPassword, "DefaultRole": "Role:1"})
	oid := s.must(0, "admin", object{"AssetType": "Story", "Name": "followed", "Scope": "Scope:0", "Estimate": 0})[0]
	s.CatchUp()
	written, seen := 0, 0
	for k := 0; ; k++ {
		select {
		case <-stop:
			if k >= followedAtLeast {
				return old
			}
		default:
		}
		if k%4 == 0 {
			written++
			s.must(0, "admin", change(oid, object{"Estimate": written}))
		}
		a := s.ask(k%apis, "reader", http.MethodPost, "/query.v1", object{"from": oid, "select": []string{"Estimate"}})
		value := -1.0
		if found := regexp.MustCompile(`"Estimate": *"?([0-9.]+)`).FindSubmatch(a.text); found != nil {
			value, _ = strconv.ParseFloat(string(found[1]), 64)
		}
		switch {
		case int(value) < seen:
			s.t.Errorf("a reader sees %v behind %d: %.300s", value, seen, a.text)
		case int(value) < written:
			old++
		}
		seen = max(seen, int(value))
	}
}

// eventualReads sends reads with "Consistency: eventual" to a replica that is behind. The replica must
// answer them, so some do not find the member's own writes. Reads with "Consistency: strong" must find the
// writes of other members.
func eventualReads(s *replicated) {
	const tries = 10
	s.Freeze() // makes the replica fall behind on any machine
	defer s.Thaw()
	missed, before := 0, s.counts()
	for k := range tries {
		mark := s.mark("eventual")
		oid := s.must(0, s.members[0], object{"AssetType": "Story", "Name": "eventual", "Scope": "Scope:0", "Reference": mark})[0]
		if !s.shows(1, s.members[0], k, oid, mark, "Consistency", "eventual") {
			missed++
		}
		if !s.shows(1, s.members[1], k, oid, mark, "Consistency", "strong") {
			s.t.Error("a strong read does not find what another member has written")
		}
	}
	now := s.counts()
	s.t.Logf("of %d writes %d were not found by eventual reads; reads: %s", tries, missed, s.since(before))
	if missed == 0 || now["replica"]-before["replica"] < tries || now["strong"]-before["strong"] != tries {
		s.t.Errorf("%d of %d eventual reads were old; reads: %s", missed, tries, s.since(before))
	}
}

// theRest tests everything that must not use the replica: credentials, stored answers, tokens, the creation
// of deliveries, and the feed.
func theRest(s *replicated) {
	before := s.counts()
	delivered := make(chan []byte, 10)
	receiver := testproc.FreeAddr(s.t)
	server := &http.Server{Addr: receiver, ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		delivered <- b
	})}
	go func() { _ = server.ListenAndServe() }()
	defer func() { _ = server.Close() }()
	created := object{"type": "AssetCreated", "from": "Story", "filter": []string{"Name='kept'"}, "select": []string{"Reference"}}
	hook := object{"url": "http://" + receiver, "enabled": true, "eventTypes": []any{created}}
	if a := s.ask(0, "admin", http.MethodPost, "/api/webhook", hook); a.status != http.StatusOK {
		s.t.Errorf("subscribe: %d: %.300s", a.status, a.text)
	}
	for k := range 5 {
		name, mark := s.mark("member"), s.mark("kept")
		s.must(0, "admin", object{"AssetType": "Member", "Name": name, "Nickname": name, "Username": name, "Password": adminPassword, "DefaultRole": "Role:1"})
		create := object{"AssetType": "Story", "Name": "kept", "Scope": "Scope:0", "Reference": mark}
		var feed struct{ Next string }
		if a := s.ask(0, "admin", http.MethodGet, "/api/changes", nil); json.Unmarshal(a.text, &feed) != nil || feed.Next == "" {
			s.t.Errorf("the end of the feed: %d: %.200s", a.status, a.text)
		}
		// The new member must be able to log in at once.
		first := s.ask(1, name, http.MethodPost, "/api/asset", create, "Idempotency-Key", mark)
		second := s.ask(0, name, http.MethodPost, "/api/asset", create, "Idempotency-Key", mark)
		if first.status != http.StatusOK || !bytes.Equal(first.text, second.text) {
			s.t.Errorf("round %d: the answers to one key are %d %.200s, and %d %.200s", k, first.status, first.text, second.status, second.text)
		}
		select {
		case one := <-delivered:
			if !bytes.Contains(one, []byte(mark)) {
				s.t.Errorf("a delivery has not the value of its moment: %.300s", one)
			}
		case <-time.After(2 * time.Minute):
			s.t.Error("a change is not delivered")
		}
		if a := s.ask(1, name, http.MethodGet, "/api/changes?after="+feed.Next, nil); !bytes.Contains(a.text, []byte(first.bulk.RequestID)) {
			s.t.Errorf("the feed does not have a change: %d: %.200s", a.status, a.text)
		}
		if a := s.ask(1, name, http.MethodPost, "/api/tokens", object{"name": "one"}); a.status != http.StatusOK {
			s.t.Errorf("a token: %d: %.200s", a.status, a.text)
		}
		if a := s.ask(0, name, http.MethodGet, "/api/tokens", nil); !bytes.Contains(a.text, []byte(`"one"`)) {
			s.t.Errorf("tokens: %d: %.200s", a.status, a.text)
		}
	}
	if now := s.since(before); now != "" {
		s.t.Errorf("what is no query was routed: %s", now)
	}
}

// replicaIsKilled kills the replica while members read. No read may fail. When the replica runs again, the
// apis must use it again.
func replicaIsKilled(s *replicated) {
	stop := make(chan struct{})
	var wait sync.WaitGroup
	var reads count.Int64
	for n, member := range s.members {
		wait.Go(func() {
			for k := n; ; k++ {
				select {
				case <-stop:
					return
				default:
				}
				s.shows(k%apis, member, k/2, "Scope:0", "Scope:0")
				reads.Add(1)
				if n == 0 && k%10 == 0 {
					s.must(0, member, change("Scope:0", object{"Description": s.mark("killed")}))
				}
			}
		})
	}
	more := func() { // waits for some more reads
		from := reads.Load()
		s.await("reads go on", func() bool { return reads.Load() >= from+10*writers })
	}
	more()
	s.Kill()
	s.await("the replica is left out", func() bool { return s.metric("alds_app_db_replica_up", "") == 0 })
	for i := range apis {
		if res, err := http.Get(s.admin[i] + "/readyz"); err != nil || res.StatusCode != http.StatusOK { //nolint:noctx // it answers at once
			s.t.Errorf("without a replica an api is not ready: %v, %v", res, err)
		} else {
			_ = res.Body.Close()
		}
	}
	more()
	s.Start()
	s.await("the replica is in use again", func() bool { return s.metric("alds_app_db_replica_up", "") == apis })
	more()
	close(stop)
	wait.Wait()
	s.t.Logf("%d reads", reads.Load())
}

// replicaStandsStill stops the replication until the apis no longer use the replica, and then lets the
// replica catch up. Members must always find their own writes.
func replicaStandsStill(s *replicated) {
	if testing.Short() {
		s.t.Skip("long tier only: waits ten seconds for a replica to lag too much")
	}
	s.Freeze()
	for began := time.Now(); s.metric("alds_app_db_replica_up", "") > 0; time.Sleep(100 * time.Millisecond) {
		mark := s.mark("still")
		oid := s.must(0, s.members[2], object{"AssetType": "Story", "Name": "still", "Scope": "Scope:0", "Reference": mark})[0]
		if !s.shows(1, s.members[2], 0, oid, mark) {
			s.t.Error("an own write was missed")
		}
		if time.Since(began) > quietIn {
			s.t.Fatal("a replica that stands still is not left out")
		}
	}
	s.Thaw()
	s.await("the replica is in use again", func() bool { return s.metric("alds_app_db_replica_up", "") == apis })
}

func (s *replicated) await(what string, reached func() bool) {
	s.t.Helper()
	for end := time.Now().Add(quietIn); !reached(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("it does not come to pass within %s that %s", quietIn, what)
		}
	}
}

// by are the values of the label "by" of the metric for reads. Each is a reason why a read went to the
// replica or to the writer.
var by = []string{"replica", "member", "strong", "none", "behind", "refused"}

func (s *replicated) counts() map[string]int {
	all := map[string]int{}
	for _, b := range by {
		all[b] = s.metric("alds_app_db_routed_reads_total", `by="`+b+`"`)
	}
	return all
}

// since describes how much the counts have grown. The parameter before has the earlier counts.
func (s *replicated) since(before map[string]int) string {
	var all []string
	for _, b := range by {
		if n := s.counts()[b] - before[b]; n != 0 {
			all = append(all, fmt.Sprintf("%s %d", b, n))
		}
	}
	return strings.Join(all, ", ")
}

// metric returns the sum of a metric over both apis. label is a part of the labels, or empty.
func (s *replicated) metric(name, label string) (sum int) {
	line := regexp.MustCompile(`(?m)^` + name + `\{[^}]*` + label + `[^}]*\} ([0-9.e+]+)$`)
	for _, admin := range s.admin {
		res, err := http.Get(admin + "/metrics") //nolint:noctx // it answers at once
		if err != nil {
			continue // the api is still starting
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		for _, found := range line.FindAllSubmatch(text, -1) {
			n, _ := strconv.ParseFloat(string(found[1]), 64)
			sum += int(n)
		}
	}
	return sum
}
