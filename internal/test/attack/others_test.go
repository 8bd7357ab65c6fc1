package attack

import (
	"context"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	// floor is within what a read always may be during an attack: attacker,
	// service, database and other tests share the cores with the second member,
	// and three times of a millisecond is less than one turn of the scheduler. Who
	// is starved waits for seconds.
	floor = 250 * time.Millisecond

	healthWithin = time.Second
	largest      = 32 << 20 // of the attacks' bodies, in bytes
	quietTime    = 1500 * time.Millisecond
	attacks      = 4 // at most, while reads are slow
	readPause    = 15 * time.Millisecond
)

// others is what a second member sees, and who asks for health.
type others struct {
	s      *site
	who    string
	client *http.Client
	reads  []read

	quiet, most   time.Duration // 99 of 100 reads in quiet; the limit that follows
	before        int64         // bytes that the process held
	running       sync.WaitGroup
	mu            sync.Mutex
	took          []time.Duration
	wrong         []string
	slowestHealth time.Duration
}

type read struct{ method, path, body string }

// watch lets a second member read, until the test ends, and measures it in quiet.
// There must be stories.
func (s *site) watch(oneStory string) *others {
	s.t.Helper()
	o := &others{s: s, who: s.member("second"), client: from("127.0.0.1"), reads: []read{
		{http.MethodPost, "/query.v1", `{"from":"Story","select":["Name","Estimate","Scope.Name","Owners.Name"],"where":{"Scope":"Scope:0"},"sort":["Name"],"page":{"start":0,"size":50}}`},
		{http.MethodGet, "/rest-1.v1/Data/" + oneStory + "?sel=Name,Estimate", ""},
	}}
	o.begin()
	time.Sleep(quietTime / 4) // the first reads are planned and logged in
	o.forget()
	time.Sleep(quietTime)
	o.mu.Lock()
	o.quiet = percentile99(o.took)
	o.mu.Unlock()
	o.most = max(floor, 3*o.quiet)
	o.allowTouch()
	o.before, _ = s.proc.Memory()
	return o
}

// allowTouch raises the limit to what the machine takes just now to give memory: on
// virtual machines that differs from minute to minute.
func (o *others) allowTouch() { o.most = max(o.most, 3*firstTouch()) }

// firstTouch is how long the machine takes to give a process as much memory as a large
// body has: some 10 ms, and on virtual machines half a second, in which nothing else
// runs on that core. It is the slowest of three, since others need memory, too.
func firstTouch() (slowest time.Duration) {
	for range 3 {
		debug.FreeOSMemory()
		began := time.Now()
		for b, i := make([]byte, largest), 0; i < len(b); i += os.Getpagesize() {
			b[i] = 1
		}
		slowest = max(slowest, time.Since(began))
	}
	return slowest
}

func (o *others) begin() {
	ctx, stop := context.WithCancel(o.s.t.Context())
	o.running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			o.read(ctx, o.reads[i%len(o.reads)])
			time.Sleep(readPause)
		}
	})
	o.running.Go(func() {
		for ctx.Err() == nil {
			o.health(ctx)
			time.Sleep(100 * time.Millisecond)
		}
	})
	o.s.t.Cleanup(func() { stop(); o.running.Wait() })
}

func (o *others) read(ctx context.Context, r read) {
	began := time.Now()
	status, answer, err := o.s.ask(ctx, o.client, o.who, r.method, r.path, []byte(r.body))
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.took = append(o.took, time.Since(began))
	if err != nil || status != http.StatusOK {
		o.wrong = append(o.wrong, http.StatusText(status)+" "+string(answer[:min(len(answer), 200)])+" "+errText(err))
	}
}

func (o *others) health(ctx context.Context) {
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.s.health, nil)
	if err != nil {
		panic(err)
	}
	res, err := o.client.Do(req)
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || res.StatusCode != http.StatusOK {
		o.wrong = append(o.wrong, "/healthz: "+errText(err))
		return
	}
	res.Body.Close()
	o.slowestHealth = max(o.slowestHealth, time.Since(began))
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (o *others) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.took, o.wrong, o.slowestHealth = nil, nil, 0
}

// during carries out an attack and fails the test for what the others should not
// have seen meanwhile. The most memory that the process may have held is in bytes.
// Where reads were slow it attacks again: other work on the machine delays a read
// now and then, and who is starved waits each time.
func (o *others) during(t *testing.T, mostMemory int64, attack func()) {
	t.Helper()
	slow := o.bear(t, attack)
	for n := 1; n < attacks && slow > o.most; n++ {
		t.Logf("99 of 100 reads took up to %s; once more", slow)
		o.s.hangUp()
		o.allowTouch()
		slow = o.bear(t, attack)
	}
	if slow > o.most {
		t.Errorf("99 of 100 reads took up to %s, allowed are %s", slow, o.most)
	}
	if _, most := o.s.proc.Memory(); most > mostMemory {
		t.Errorf("the process held %d MiB, allowed are %d", most/mib, mostMemory/mib)
	}
}

// bear carries out an attack, fails the test for what went wrong for the others, and
// returns within what 99 of 100 of their reads were answered.
func (o *others) bear(t *testing.T, attack func()) time.Duration {
	t.Helper()
	o.forget()
	attack()
	o.s.proc.MustRun()
	_, most := o.s.proc.Memory()
	o.mu.Lock()
	defer o.mu.Unlock()
	slow := percentile99(o.took)
	t.Logf("the second member: 99 of 100 of %d reads within %s, in quiet %s, allowed %s; /healthz within %s; the process held %d MiB before, %d MiB at most",
		len(o.took), slow.Round(time.Millisecond/10), o.quiet.Round(time.Millisecond/10), o.most.Round(time.Millisecond), o.slowestHealth.Round(time.Millisecond/10), o.before/mib, most/mib)
	if len(o.took) < 20 {
		t.Errorf("only %d reads", len(o.took))
	}
	if n := len(o.wrong); n*100 > len(o.took) {
		t.Errorf("%d of %d requests of the others went wrong: %s", n, len(o.took), o.wrong[0])
	}
	if o.slowestHealth > healthWithin {
		t.Errorf("/healthz took %s", o.slowestHealth)
	}
	return slow
}

// settles fails the test when the process does not come back to one and a half
// times the memory that it held before, within 20 seconds.
func (o *others) settles() {
	o.s.t.Helper()
	began := time.Now()
	for {
		now, _ := o.s.proc.Memory()
		if now*2 <= o.before*3 {
			o.s.t.Logf("the memory is back at %d MiB after %s", now/mib, time.Since(began).Round(time.Second))
			return
		}
		if time.Since(began) > 20*time.Second {
			o.s.t.Errorf("the process still holds %d MiB, %d before", now/mib, o.before/mib)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func percentile99(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)*99-1)/100]
}
