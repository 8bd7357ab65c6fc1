package watchtest

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// quiet maps panels that show only 0, or rarely more, in a healthy installation to the reason.
var quiet = map[string]string{
	"Overview: Targets that do not answer":                "all answer",
	"Overview: Alerts that fire":                          "nothing is wrong",
	"Overview: Errors":                                    "no request fails, and none is refused",
	"Overview: Saturation: connections to the database":   "the load is small",
	"Overview: Saturation: requests that wait":            "the load is small",
	"Overview: Delivery: age of the oldest change":        "changes are fanned out at once",
	"API: Large answers broken off":                       "clients read their answers",
	"API: Panics":                                         "there is no known defect",
	"API: Memory of requests":                             "the load is small",
	"API: Connections turned away":                        "there are few clients",
	"API: Audit: only counted":                            "there are few who may not sign in",
	"Webhooks: Writes not fanned out":                     "changes are fanned out at once",
	"Webhooks: Subscriptions disabled":                    "attempts are not used up",
	"Webhooks: Subscriptions being delivered to":          "deliveries end within a moment",
	"Webhooks: Subscriptions that wait for a worker":      "workers take them at once",
	"Webhooks: Leases lost":                               "work is quick",
	"Webhooks: Results not stored":                        "the database works",
	"Queue and databases: Processes cut off":              "everything is within reach",
	"Queue and databases: Not sent":                       "Redis takes everything",
	"Queue and databases: Hints not read":                 "Redis answers",
	"Queue and databases: Work that failed":               "the database works",
	"Queue and databases: Failed":                         "the database works",
	"Queue and databases: History removed":                "all of it is kept",
	"Queue and databases: Kinds of connections":           "the load is small",
	"Queue and databases: Long reads that wait":           "reads are short",
	"Queue and databases: Reads begun again":              "reads are short",
	"Queue and databases: Statements ended at the server": "clients wait for their answers",
	"Queue and databases: Writes without room":            "the database has room",
	"Queue and databases: Replicas out of use":            "all answer",
	"Queue and databases: Lag of replicas":                "the replica has all",
}

// ofReplicas are the panels that show nothing for standalone, because standalone has no replicas.
var ofReplicas = []string{
	"Queue and databases: Where queries are answered",
	"Queue and databases: Replicas out of use",
	"Queue and databases: Lag of replicas",
}

// redBy maps an alert to the panels that must show its fault, in red or as a value above 0.
var redBy = map[string][]string{
	"AldsDown":                 {"Overview: Targets that do not answer"},
	"AldsProcessDown":          {"Overview: Targets that do not answer"},
	"AldsApiDown":              {"Overview: APIs"},
	"AldsWorkersDown":          {"Overview: Workers"},
	"AldsSchedulerDown":        {"Overview: Schedulers"},
	"AldsDatabaseDown":         {"Queue and databases: Processes cut off", "Queue and databases: Work that failed", "Overview: Alerts that fire"},
	"AldsDatabaseFull":         {"Queue and databases: Writes without room"},
	"AldsDatabasePoolFull":     {"Queue and databases: Kinds of connections", "Overview: Saturation: connections to the database"},
	"AldsRedisDown":            {"Queue and databases: Processes cut off", "Queue and databases: Not sent", "Queue and databases: Hints not read"},
	"AldsAttachmentsDown":      {"Queue and databases: Processes cut off"},
	"AldsDeliveryBehind":       {"Overview: Delivery: age of the oldest change", "Webhooks: Writes not fanned out"},
	"AldsReceiverFailing":      {"Webhooks: Who fails?"},
	"AldsReceiverBehind":       {"Webhooks: Who is too slow?", "Webhooks: Deliveries that are due"},
	"AldsSubscriptionDisabled": {"Webhooks: Subscriptions disabled"},
	"AldsPeriodicWorkOverdue":  {"Queue and databases: Periods since it last ended well", "Queue and databases: Failed"},
	"AldsServerErrors":         {"Overview: Errors"},
	"AldsRequestsRefused":      {"Overview: Errors"},
	"AldsPanics":               {"API: Panics"},
	"AldsAnswersBrokenOff":     {"API: Large answers broken off"},
	"AldsPasswordsTried":       {"API: Not signed in"},
}

// awaitRed waits until the panels in redBy show the faults of the alerts.
func awaitRed(t *testing.T, s *server, firing []watched) {
	t.Helper()
	all := panels(boards(t))
	for _, w := range firing {
		if len(redBy[w.alert]) == 0 {
			t.Errorf("%s is on no panel", w.alert)
		}
		for _, title := range redBy[w.alert] {
			for until := time.Now().Add(testproc.AnswersIn); !s.isRed(all[title], w.job); <-time.After(200 * time.Millisecond) {
				if time.Now().After(until) {
					t.Errorf("%s does not show %s: %v", title, w.alert, s.shown(all[title], w.job))
					break
				}
			}
		}
	}
}

func (s *server) isRed(p panel, job string) bool {
	s.t.Helper()
	return slices.ContainsFunc(s.shown(p, job), func(found sample) bool { return p.isBad(found.number()) })
}

// shown returns the samples that a panel shows for a job.
func (s *server) shown(p panel, job string) (all []sample) {
	s.t.Helper()
	for _, q := range p.Targets {
		all = append(all, s.mustQuery(chosen(q.Expr, job, ".*"))...)
	}
	return all
}

// TestPanels checks the panels with two working installations: one of three processes and one standalone.
// All expressions of a panel must have data, and their series must have the labels that the legend names.
func TestPanels(t *testing.T) {
	together(t)
	began := time.Now()
	s := startPrometheus(t)
	settings := []string{"ALDS_WEBHOOK_RETRY_SCHEDULE=1s,1s,1s,1h"}
	all := []*installation{
		install(t, many(t), "alds-separate", plan{roles: allRoles, settings: settings}),
		install(t, nil, "alds-alone", plan{settings: settings}),
	}
	for _, i := range all {
		i.ready()
		s.scrape(i.job, i.admins()...)
		everyday(i)
	}
	for _, i := range all {
		s.await(`up{job="`+i.job+`"} == 1`, len(i.processes), testproc.AnswersIn)
	}
	t.Logf("the installations stand after %s", time.Since(began).Round(time.Second))
	described := boards(t)
	for title := range quiet {
		if panels(described)[title].Title == "" {
			t.Errorf("there is no panel %s that could be quiet", title)
		}
	}
	for _, b := range described {
		s.checkVariables(b, all)
		for _, i := range all {
			s.awaitPanels(b, i)
		}
	}
}

// checkVariables checks that a dashboard lets the user choose every installation, and the processes of the
// chosen role.
func (s *server) checkVariables(b board, all []*installation) {
	s.t.Helper()
	for _, i := range all {
		if jobs := s.offers(b, "job", nil); !slices.Contains(jobs, i.job) {
			s.t.Errorf("%s does not offer %s, but %v", b.Title, i.job, jobs)
		}
		for _, p := range i.processes {
			if roles := s.offers(b, "role", map[string]string{"job": i.job}); !slices.Contains(roles, p.role) {
				s.t.Errorf("%s does not offer the role %s, but %v", b.Title, p.role, roles)
			}
			if got := s.offers(b, "instance", map[string]string{"job": i.job, "role": p.role}); !slices.Equal(got, []string{p.admin}) {
				s.t.Errorf("%s offers %v as the processes of the role %s, want %s", b.Title, got, p.role, p.admin)
			}
		}
	}
}

// awaitPanels waits until each panel of a dashboard shows useful data of an installation.
func (s *server) awaitPanels(b board, i *installation) {
	s.t.Helper()
	began, waiting := time.Now(), slices.Clone(b.Panels)
	if i.redis == nil {
		waiting = slices.DeleteFunc(waiting, func(p panel) bool { return slices.Contains(ofReplicas, p.Title) })
	}
	wrong := map[string]string{}
	for until := began.Add(2 * testproc.AnswersIn); len(waiting) > 0; <-time.After(200 * time.Millisecond) {
		waiting = slices.DeleteFunc(waiting, func(p panel) bool {
			wrong[p.Title] = s.wrong(p, i)
			return wrong[p.Title] == ""
		})
		if time.Now().After(until) {
			break
		}
	}
	for _, p := range waiting {
		s.t.Errorf("%s, %s: %s", i.job, p.Title, wrong[p.Title])
	}
	s.t.Logf("%s shows %s after %s", b.Title, i.job, time.Since(began).Round(time.Second))
}

var labelOf = regexp.MustCompile(`\{\{(\w+)\}\}`)

// mostLines is how many lines in a panel a reader can tell apart at most.
const mostLines = 12

// wrong returns why a panel is not useful, or "" if it is.
func (s *server) wrong(p panel, i *installation) string {
	s.t.Helper()
	lines, isAbove0 := 0, false
	for _, q := range p.Targets {
		expr, numbers := chosen(q.Expr, i.job, i.chosen()), 0
		for _, found := range s.mustQuery(expr) {
			for _, label := range labelOf.FindAllStringSubmatch(q.LegendFormat, -1) {
				if found.Metric[label[1]] == "" {
					return fmt.Sprintf("%v of %s has no label %s", found.Metric, expr, label[1])
				}
			}
			lines++
			if n := found.number(); !math.IsNaN(n) {
				numbers++
				isAbove0 = isAbove0 || n > 0
			}
		}
		if numbers == 0 {
			return expr + " has no data"
		}
	}
	switch {
	case lines > mostLines:
		return fmt.Sprintf("%d lines", lines)
	case !isAbove0 && quiet[p.Title] == "":
		return "nothing but 0"
	}
	return ""
}

// chosen returns the addresses of all processes, in the form in which Grafana fills in "All".
func (i *installation) chosen() string {
	var all []string
	for _, a := range i.admins() {
		all = append(all, strings.ReplaceAll(a, ".", `\\.`))
	}
	return "(" + strings.Join(all, "|") + ")"
}

// everyday sends requests of many kinds until the test ends. Of the four receivers, one accepts everything,
// one fails sometimes, one always fails, and one is slow.
func everyday(i *installation) {
	i.subscribe("takes all", answering(i.t, http.StatusOK))
	i.subscribe("fails now and then", failingSometimes(i.t))
	i.subscribe("fails always", answering(i.t, http.StatusInternalServerError))
	i.subscribeBatch("is slow", answeringLate(i.t, 5*time.Second), 1)
	get := func(pause time.Duration, path, name string) {
		i.repeat(pause, func(ctx context.Context) { i.request(ctx, http.MethodGet, path, name, nil) })
	}
	get(100*time.Millisecond, "/rest-1.v1/Data/Story?sel=Name&page=10,0", "admin")
	get(500*time.Millisecond, "/api/webhook", "admin")
	get(2*time.Second, "/api/tokens", "nobody")
	get(500*time.Millisecond, "/api/changes?after=0&from=Story&select=Name&page=10", "admin")
	get(500*time.Millisecond, "/api/changes?from=Story&filter=Name='nothing'&select=Name&wait=5", "admin")
	i.work()
	bulk := []any{
		map[string]any{"from": "Story", "where": map[string]any{"Name": "story 0"}, "page": map[string]any{"size": 1}, "select": []string{"Name"}},
		map[string]any{"AssetType": "Story", "Scope": i.project}, // the required name is missing
	}
	i.repeat(time.Second, func(ctx context.Context) { i.post(ctx, "/api/asset", bulk) })
	i.repeat(time.Second, func(ctx context.Context) { i.post(ctx, "/api/asset", i.stories(2, 60), "Prefer", "respond-async") })
}

// failingSometimes starts a receiver that refuses every third request.
func failingSometimes(t *testing.T) (url string) {
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1)%3 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestReleases checks the annotation for releases. It must mark a version for two minutes after the version
// starts, and no longer.
func TestReleases(t *testing.T) {
	testdb.Runs(t, "promtool", "--version")
	for _, b := range boards(t) {
		n := slices.IndexFunc(b.Annotations.List, func(a struct{ Name, Expr, TitleFormat string }) bool { return a.Name == "Releases" })
		if n < 0 || b.Annotations.List[n].TitleFormat != "{{version}}" {
			t.Errorf("%s has no annotations of releases", b.Title)
			continue
		}
		file := filepath.Join(t.TempDir(), "releases.yml")
		text := fmt.Sprintf(releases, chosen(b.Annotations.List[n].Expr, "alds", ""))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("promtool", "test", "rules", file).CombinedOutput(); err != nil { //nolint:gosec // a file of the test
			t.Errorf("%s: %v\n%s", b.Title, err, out)
		}
	}
}

// releases is a promtool test of the expression in an annotation. An upgrade happens after ten minutes.
const releases = `
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'alds_app_build_info{job="alds", instance="a", version="1"}', values: '1x9 _x20'}
      - {series: 'alds_app_build_info{job="alds", instance="a", version="2"}', values: '_x10 1x20'}
      - {series: 'alds_app_build_info{job="alds", instance="b", version="1"}', values: '1x30'}
    promql_expr_test:
      - {eval_time: 9m, expr: &expr '%s', exp_samples: []}
      - {eval_time: 10m, expr: *expr, exp_samples: [{labels: '{version="2"}', value: 1}]}
      - {eval_time: 11m, expr: *expr, exp_samples: [{labels: '{version="2"}', value: 1}]}
      - {eval_time: 12m, expr: *expr, exp_samples: []}
`
