package faulttest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// quietIn is how long after the last fault the last event may arrive.
const quietIn = 90 * time.Second

// fleet has the processes of an installation.
type fleet struct {
	s    *site
	runs map[string]*testproc.Process
}

// commands maps the name of each process of a fleet to its command.
var commands = map[string]string{"api": "api", "worker": "worker", "second worker": "worker", "scheduler": "scheduler"}

func (s *site) startAll() *fleet {
	s.t.Helper()
	f := &fleet{s: s, runs: map[string]*testproc.Process{}}
	for name := range commands {
		f.start(name)
	}
	return f
}

func (f *fleet) start(name string) {
	f.s.t.Helper()
	if name == "api" {
		f.runs[name] = f.s.startAPI()
		return
	}
	f.runs[name] = f.s.startBeside(commands[name])
}

// again ends a process by calling end, and starts it again.
func (f *fleet) again(name string, end func(*testproc.Process)) {
	f.s.t.Helper()
	f.runs[name].MustRun()
	end(f.runs[name])
	f.start(name)
}

// TestRandomFaults writes all the time while faults happen at random times. Processes are killed or
// stopped, Redis is emptied, restarted, or killed and started later, MariaDB is killed and restarted, and
// connections are cut. Afterwards every change that matches a subscription must have been delivered, and no
// change or delivery may wait.
func TestRandomFaults(t *testing.T) {
	together(t)
	g, _ := chance(t)
	s := newSite(t)
	f := s.startAll()
	project := s.project("random faults")
	books := s.subscribeAll(project)

	ended := make(chan struct{})
	var writing sync.WaitGroup
	sent, failed := make([]int, 3), make([]int, 3)
	for i := range sent {
		writing.Go(func() { sent[i], failed[i] = s.writeUntil(ended, project, i) })
	}
	away := false // true: Redis is stopped
	back := func() {
		if away {
			s.redis.Start()
			away = false
		}
	}
	kill, stop := (*testproc.Process).Kill, (*testproc.Process).Stop
	began := time.Now()
	struck := strikeAll(g, manyFaults(), 400*time.Millisecond, append(s.databaseFaults(),
		breakage{"api killed", 3, func() { f.again("api", kill) }},
		breakage{"worker killed", 3, func() { f.again("worker", kill) }},
		breakage{"second worker killed", 2, func() { f.again("second worker", kill) }},
		breakage{"worker stopped", 1, func() { f.again("worker", stop) }},
		breakage{"api stopped", 1, func() { f.again("api", stop) }},
		breakage{"scheduler killed", 2, func() { f.again("scheduler", kill) }},
		breakage{"Redis emptied", 3, func() { back(); s.emptyRedis() }},
		breakage{"Redis killed, back later", 2, func() { back(); s.redis.Kill(); away = true }},
		breakage{"Redis restarted", 1, func() { back(); s.redis.Stop(); s.redis.Start() }},
	))
	back()
	last := time.Now()
	close(ended)
	writing.Wait()
	t.Logf("faults in %s: %v", last.Sub(began).Round(time.Millisecond), struck)
	t.Logf("requests %v, not answered 200: %v", sent, failed)

	s.awaitQuiet(books)
	for _, b := range books {
		missing, surplus, again := b.compare(b.wanted())
		t.Logf("%s: %d events, %d of them came again, %d after a newer one; the last %s after the last fault",
			b.name, b.distinct(), again, b.late, b.lastNew().Sub(last).Round(time.Millisecond))
		if missing != 0 || surplus != 0 || b.distinct() == 0 {
			t.Errorf("%s: %d events are missing, %d tell of what it does not want", b.name, missing, surplus)
		}
	}
	if n := s.waiting() + s.count("SELECT COUNT(*) FROM audit WHERE fan_state <> 1") +
		s.count("SELECT COUNT(*) FROM webhook_delivery WHERE state <> 1"); n != 0 {
		t.Errorf("%d changes or deliveries are waiting or set aside", n)
	}
	for _, p := range f.runs {
		p.MustRun()
	}
	s.sound()
}

// wish is the receiver of a subscription, and the changes that must arrive there.
type wish struct {
	*book
	name   string
	wanted func() changes
}

// subscribeAll creates three subscriptions: to every change, each delivered alone; to every change,
// delivered in batches; and to changes of Estimate.
func (s *site) subscribeAll(project string) []wish {
	s.t.Helper()
	filter := []string{"Scope='" + project + "'"}
	all := []map[string]any{
		{"type": "AssetCreated", "from": "Story", "filter": filter},
		{"type": "AssetChanged", "from": "Story", "filter": filter},
	}
	estimated := map[string]any{"type": "AssetChanged", "from": "Story", "filter": filter, "attributes": []string{"Estimate"}, "select": []string{"Name"}}
	wishes := []wish{
		{newBook(s.t), "every change, one by one", func() changes { return s.versions(false) }},
		{newBook(s.t), "every change, in batches", func() changes { return s.versions(false) }},
		{newBook(s.t), "changes of Estimate", func() changes { return s.versions(true) }},
	}
	s.subscribe(wishes[0].url, 1, all...)
	s.subscribe(wishes[1].url, 100, all...)
	s.subscribe(wishes[2].url, 10, estimated)
	return wishes
}

// writeUntil creates and changes stories until ended is closed. It ignores requests without an answer,
// because the database later shows whether they were executed.
func (s *site) writeUntil(ended chan struct{}, project string, writer int) (sent, failed int) {
	own := ""
	g := rand.New(rand.NewPCG(uint64(writer), 5))
	for ; ; sent++ {
		select {
		case <-ended:
			return sent, failed
		case <-time.After(10 * time.Millisecond):
		}
		command := story(project, fmt.Sprintf("story %d of %d", sent, writer))
		if own != "" && sent%20 != 0 {
			change := map[string]any{"Name": fmt.Sprintf("name %d", sent)}
			if g.IntN(3) == 0 {
				change = map[string]any{"Estimate": sent}
			}
			command = map[string]any{"from": own, "update": change}
		}
		var b bulk
		if err := s.post(s.t.Context(), "/api/asset", command, &b); err != nil {
			failed++
			continue
		}
		if len(b.AssetsCreated.OIDTokens) == 1 {
			own = b.AssetsCreated.OIDTokens[0]
		}
	}
}

// versions returns the changes of stories from the database. If estimate is true, it returns only changes
// of Estimate.
func (s *site) versions(estimate bool) changes {
	s.t.Helper()
	var all changes
	var before int64
	value := 0.0
	begin := func() { all, before = changes{}, 0 }
	s.each("SELECT id, moment, COALESCE(estimate, -1) FROM asset_version WHERE number LIKE 'S-%' ORDER BY id, moment", begin, func(rows *db.Rows) error {
		var id, moment int64
		var is float64
		if err := rows.Scan(&id, &moment, &is); err != nil {
			return err
		}
		asset := fmt.Sprintf("Story:%d", id)
		if all[asset] == nil {
			all[asset] = map[int64]bool{}
		}
		if !estimate || id == before && is != value {
			all[asset][moment] = true
		}
		before, value = id, is
		return nil
	})
	return all
}

// waiting returns the number of changes and deliveries that wait for a worker.
func (s *site) waiting() int {
	s.t.Helper()
	return s.count("SELECT COUNT(*) FROM audit WHERE fan_state = 0") + s.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0")
}

// awaitQuiet waits until nothing waits for a worker and all events have arrived, but at most for quietIn.
func (s *site) awaitQuiet(wishes []wish) {
	s.t.Helper()
	for end := time.Now().Add(quietIn); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if s.waiting() != 0 {
			continue
		}
		come := true
		for _, w := range wishes {
			missing, _, _ := w.compare(w.wanted())
			come = come && missing == 0
		}
		if come {
			return
		}
	}
}
