package watchtest

import (
	"cmp"
	"flag"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/operate/admin"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// TestTimesOfAlerts runs the promtool tests about the times at which alerts fire and do not fire.
func TestTimesOfAlerts(t *testing.T) {
	testdb.Runs(t, "promtool", "--version")
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts.test.yml"}} {
		cmd := exec.Command("promtool", args...) //nolint:gosec // arguments of the test
		cmd.Dir = dashboards
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// watched is an alert whose fault was caused. caused is the time of the fault, and within is the longest
// time from the fault until the alert must fire.
type watched struct {
	job, alert string
	caused     time.Time
	within     time.Duration
}

var seedOfAlerts = flag.Uint64("watchtest.seed", 0, "which alerts the short form causes; 0: others each time")

// sampled is how many faults TestAlerts causes with -short. promtool always tests all alerts.
const sampled = 3

// soonest returns some random faults whose alerts fire soon.
func soonest(t *testing.T, all []fault) []fault {
	t.Helper()
	seed := cmp.Or(*seedOfAlerts, rand.Uint64())
	t.Logf("-watchtest.seed %d", seed)
	all = slices.DeleteFunc(all, func(f fault) bool { return f.within > 0 || len(f.plan.own) > 0 })
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all[:sampled]
}

// TestAlerts causes the fault of each alert, each in its own installation. With -short it causes only some
// of the faults.
func TestAlerts(t *testing.T) {
	together(t)
	nobody := startPrometheus(t)
	began := time.Now()
	all, shared := faults(t), many(t)
	if testing.Short() {
		all = soonest(t, all)
	}
	installations := make([]*installation, len(all))
	for n, f := range all {
		installations[n] = install(t, shared, "alds-"+f.alert, f.plan)
	}
	for _, i := range installations {
		i.ready()
	}
	s := startPrometheus(t)
	for _, i := range installations {
		s.scrape(i.job, i.admins()...)
	}
	panicking := "alds-AldsPanics"
	base := servePanics(t, s, panicking)
	s.await("group by (job) (up == 1)", len(all)+1, testproc.AnswersIn)
	for _, i := range installations {
		s.await(`up{job="`+i.job+`"} == 1`, len(i.processes), testproc.AnswersIn)
	}
	awaitHealth(t, s)
	t.Logf("%d installations stand after %s", len(all), time.Since(began).Round(time.Second))

	waiting := []watched{{panicking, "AldsPanics", time.Now(), 20 * time.Second}}
	if res, err := http.Get(base); err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusInternalServerError { //nolint:gosec,noctx // a service of the test
		t.Errorf("a request whose handler panics: %v", err)
	}
	for n, f := range all {
		f.cause(installations[n])
		w := watched{installations[n].job, f.alert, time.Now(), f.within}
		if w.within == 0 {
			w.within = 30 * time.Second
		}
		waiting = append(waiting, w)
	}
	jobs := slices.Clone(waiting)
	awaitAlerts(t, s, waiting)
	for _, w := range jobs {
		// On a busy machine a process may not answer for seconds, so that another alert fires, too. Only the long
		// tier forbids this.
		if fired := s.fired(w.job); !slices.Contains(fired, w.alert) || len(fired) != 1 && !testing.Short() {
			t.Errorf("where %s is caused, %v fired: %v", w.alert, fired, s.mustQuery(`max_over_time(ALERTS{alertstate="firing", job="`+w.job+`"}[15m])`))
		}
	}
	awaitRed(t, s, jobs)
	nobody.await(`ALERTS{alertname="AldsNotScraped", alertstate="firing"}`, 1, 4*testproc.AnswersIn)
	if fired := nobody.mustQuery(`ALERTS{alertstate="firing"}`); len(fired) != 1 {
		t.Errorf("where nothing is scraped: %v", fired)
	}
}

// awaitHealth waits until no alert is pending or firing. A process that starts first reports that the
// others are missing, so an alert may be pending for a moment.
func awaitHealth(t *testing.T, s *server) {
	t.Helper()
	for until := time.Now().Add(testproc.AnswersIn); len(s.mustQuery("ALERTS")) > 0; <-time.After(200 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("before anything is wrong: %v", s.mustQuery("ALERTS"))
		}
	}
	if fired := s.mustQuery(`max_over_time(ALERTS{alertstate="firing"}[15m])`); len(fired) > 0 && !testing.Short() {
		t.Errorf("before anything is wrong these fired: %v", fired)
	}
}

// awaitAlerts waits until each of the alerts has fired. The test fails if an alert does not fire in time.
func awaitAlerts(t *testing.T, s *server, waiting []watched) {
	t.Helper()
	for len(waiting) > 0 {
		firing := map[string]bool{}
		for _, a := range s.mustQuery(`ALERTS{alertstate="firing"}`) {
			firing[a.Metric["job"]+" "+a.Metric["alertname"]] = true
		}
		waiting = slices.DeleteFunc(waiting, func(w watched) bool {
			took := time.Since(w.caused).Round(time.Second)
			switch {
			case firing[w.job+" "+w.alert]:
				t.Logf("%-26s fired after %s", w.alert, took)
			case took > w.within && (!testing.Short() || took > 4*testproc.AnswersIn):
				t.Errorf("%s did not fire within %s", w.alert, took)
			default:
				return false
			}
			return true
		})
		<-time.After(200 * time.Millisecond)
	}
}

// servePanics serves the HTTP interface without the engines behind it, so that its handlers panic. It
// returns the URL of one of the handlers.
func servePanics(t *testing.T, s *server, job string) (base string) {
	t.Helper()
	registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	api := httpapi.New(func() *httpapi.Engines { return &httpapi.Engines{} }, httpapi.Options{Instance: "alds", Metrics: registry})
	metrics := admin.New(registry, log)
	var addresses []string
	for _, serve := range []func(net.Listener) error{api.Serve, metrics.Serve} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = serve(l) }()
		t.Cleanup(func() { _ = l.Close() })
		addresses = append(addresses, l.Addr().String())
	}
	s.scrape(job, addresses[1])
	return "http://" + addresses[0] + "/alds/api/tokens"
}
