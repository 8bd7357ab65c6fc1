package faulttest

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/db"
)

var (
	randomFaults = flag.Int("faults", 10, "random faults of TestRandomFaults")
	faultSeed    = flag.Uint64("faultseed", 0, "seed of the random faults; 0: another one every time")
)

// quietIn is how long after the last fault everything must have arrived.
const quietIn = 60 * time.Second

// book is a receiver that notes what it is told of each asset.
type book struct {
	mu    sync.Mutex
	times map[string]map[int64]int // by asset, then sequenceId: how often it came
}

func (b *book) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Events []struct {
			SequenceID  int64 `json:"sequenceId"`
			TargetAsset struct {
				OID string `json:"_oid"`
			} `json:"targetAsset"`
		} `json:"events"`
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range body.Events {
		asset := e.TargetAsset.OID[:strings.LastIndexByte(e.TargetAsset.OID, ':')]
		if b.times[asset] == nil {
			b.times[asset] = map[int64]int{}
		}
		b.times[asset][e.SequenceID]++
	}
}

// missing compares what came with the versions that there are.
func (b *book) missing(versions map[string][]int64) (missing, surplus, again int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := 0
	for asset, moments := range versions {
		for _, m := range moments {
			known++
			switch n := b.times[asset][m]; n {
			case 0:
				missing++
			default:
				again += n - 1
			}
		}
	}
	for _, came := range b.times {
		surplus += len(came)
	}
	return missing, surplus - known + missing, again
}

// TestRandomFaults writes steadily while faults strike at random instants:
// processes are killed or told to stop, Redis is emptied, and the connections
// to the database are cut (other tests use the same server, so it is not
// restarted). Then every version there is has arrived at every receiver that
// wants it, and nothing waits. -faults 100 makes it long.
func TestRandomFaults(t *testing.T) {
	seed := *faultSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	g := rand.New(rand.NewPCG(seed, 3))
	s := newSite(t)
	running := map[string]*process{"api": s.startAPI(), "worker": s.start("worker"), "second worker": s.start("worker"), "scheduler": s.start("scheduler")}
	project := s.project("random faults")
	books := []*book{{times: map[string]map[int64]int{}}, {times: map[string]map[int64]int{}}}
	for i, b := range books {
		server := httptest.NewServer(b)
		t.Cleanup(server.Close)
		filter := []string{"Scope='" + project + "'"}
		s.mustPost("/api/webhook", map[string]any{"url": server.URL, "enabled": true, "maxBatch": 1 + 99*i, "eventTypes": []any{
			map[string]any{"type": "AssetCreated", "from": "Story", "filter": filter},
			map[string]any{"type": "AssetChanged", "from": "Story", "filter": filter},
		}}, &struct{}{})
	}
	d, err := db.Open(t.Context(), s.mysql, db.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })

	done := make(chan struct{})
	var writers sync.WaitGroup
	failed := make([]int, 3)
	for i := range failed {
		writers.Go(func() { failed[i] = s.writeUntil(done, project, i) })
	}
	struck := map[string]int{}
	for range *randomFaults {
		time.Sleep(time.Duration(50+g.IntN(400)) * time.Millisecond)
		struck[s.strike(g, d, running)]++
	}
	close(done)
	writers.Wait()
	t.Logf("faults: %v; requests that failed: %v", struck, failed)

	end := time.Now().Add(quietIn)
	for !s.quiet(d, books) && time.Now().Before(end) {
		time.Sleep(100 * time.Millisecond)
	}
	versions := s.versions(d)
	for i, b := range books {
		missing, surplus, again := b.missing(versions)
		t.Logf("receiver %d: %d assets, %d duplicates", i, len(versions), again)
		if missing != 0 || surplus != 0 {
			t.Errorf("seed %d: receiver %d: %d events are missing, %d tell of what never was", seed, i, missing, surplus)
		}
	}
	for _, query := range []string{
		"SELECT COUNT(*) FROM audit WHERE fan_state <> 1", "SELECT COUNT(*) FROM webhook_delivery WHERE state <> 1",
	} {
		if n := s.count(d, query); n != 0 {
			t.Errorf("seed %d: %s: %d", seed, query, n)
		}
	}
	s.sound()
}

// strike does one fault and says which.
func (s *site) strike(g *rand.Rand, d *db.DB, running map[string]*process) string {
	s.t.Helper()
	switch n := g.IntN(10); {
	case n < 2:
		running["api"].kill()
		running["api"] = s.startAPI()
		return "api killed"
	case n < 6:
		name := []string{"worker", "second worker"}[g.IntN(2)]
		if n < 5 {
			running[name].kill()
			running[name] = s.start("worker")
			return "worker killed"
		}
		_ = running[name].cmd.Process.Signal(os.Interrupt)
		<-running[name].ended
		running[name] = s.start("worker")
		return "worker restarted"
	case n < 7:
		running["scheduler"].kill()
		running["scheduler"] = s.start("scheduler")
		return "scheduler killed"
	case n < 9:
		s.emptyRedis()
		return "Redis emptied"
	default:
		s.cut(d)
		return "connections cut"
	}
}

// cut kills the connections that processes have to this installation's
// database.
func (s *site) cut(d *db.DB) {
	s.t.Helper()
	at, err := url.Parse(s.mysql)
	if err != nil {
		s.t.Fatal(err)
	}
	rows, err := d.Query(s.t.Context(), "SELECT id FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID()",
		strings.TrimPrefix(at.Path, "/"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	rows.Close()
	for _, id := range ids {
		_, _ = d.Exec(s.t.Context(), fmt.Sprintf("KILL %d", id)) // it may have gone
	}
}

// writeUntil makes stories and renames them until done, and returns how many
// requests failed: what became of those is for the database to say.
func (s *site) writeUntil(done chan struct{}, project string, writer int) (failed int) {
	story := ""
	for i := 0; ; i++ {
		select {
		case <-done:
			return failed
		case <-time.After(10 * time.Millisecond):
		}
		var b bulk
		command := map[string]any{"from": story, "update": map[string]any{"Name": fmt.Sprintf("story %d of %d", i, writer)}}
		if story == "" || i%20 == 0 {
			command = map[string]any{"AssetType": "Story", "Name": fmt.Sprintf("story %d of %d", i, writer), "Scope": project}
		}
		if err := s.post(s.t.Context(), "/api/asset", command, &b); err != nil {
			failed++
			continue
		}
		if len(b.AssetsCreated.OIDTokens) == 1 {
			story = b.AssetsCreated.OIDTokens[0]
		}
	}
}

// versions lists the moments of all stories.
func (s *site) versions(d *db.DB) map[string][]int64 {
	s.t.Helper()
	rows, err := d.Query(s.t.Context(), "SELECT id, moment FROM asset_version WHERE number LIKE 'S-%' ORDER BY id, moment")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	all := map[string][]int64{}
	for rows.Next() {
		var id, moment int64
		if err := rows.Scan(&id, &moment); err != nil {
			s.t.Fatal(err)
		}
		asset := fmt.Sprintf("Story:%d", id)
		all[asset] = append(all[asset], moment)
	}
	return all
}

func (s *site) count(d *db.DB, query string) (n int) {
	s.t.Helper()
	if err := d.QueryRow(s.t.Context(), query).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// quiet reports whether nothing waits and everything has come.
func (s *site) quiet(d *db.DB, books []*book) bool {
	s.t.Helper()
	if s.count(d, "SELECT COUNT(*) FROM audit WHERE fan_state = 0")+s.count(d, "SELECT COUNT(*) FROM webhook_delivery WHERE state = 0") != 0 {
		return false
	}
	versions := s.versions(d)
	for _, b := range books {
		if missing, _, _ := b.missing(versions); missing != 0 {
			return false
		}
	}
	return true
}
