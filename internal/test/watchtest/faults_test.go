package watchtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// fault says how the test causes the fault of an alert.
type fault struct {
	alert  string
	plan   plan
	within time.Duration // time from the fault until the alert must fire; 0: 30 s
	cause  func(i *installation)
}

// faults returns the faults that need an installation. TestAlerts causes the other faults itself.
func faults(t *testing.T) []fault {
	receiver := answering(t, http.StatusOK)
	contents := filepath.Join(t.TempDir(), "contents")
	if err := os.Mkdir(contents, 0o700); err != nil {
		t.Fatal(err)
	}
	return []fault{
		{"AldsDown", plan{}, 0, func(i *installation) { i.processes[0].Kill() }},
		{"AldsProcessDown", plan{roles: []string{"api", "worker", "scheduler", "worker"}}, 60 * time.Second, func(i *installation) { i.processes[3].Kill() }},
		{"AldsApiDown", plan{roles: allRoles}, 0, func(i *installation) { i.kill(0) }},
		{"AldsWorkersDown", plan{roles: allRoles}, 0, func(i *installation) {
			i.subscribe("all stories", receiver)
			i.work()
			i.kill(1)
		}},
		{"AldsSchedulerDown", plan{roles: allRoles}, 0, func(i *installation) { i.kill(2) }},
		{"AldsDatabaseDown", plan{own: []string{}}, 0, func(i *installation) {
			i.work()
			i.mariadb.Kill()
		}},
		{"AldsDatabaseFull", plan{own: []string{
			"--innodb-file-per-table=0", "--innodb-data-file-path=ibdata1:12M:autoextend:max:150M", "--innodb-autoextend-increment=1",
		}}, 0, func(i *installation) {
			i.repeat(100*time.Millisecond, func(ctx context.Context) { i.post(ctx, "/api/asset", i.stories(100, 100_000)) })
		}},
		{"AldsDatabasePoolFull", plan{mysql: true, settings: []string{"ALDS_DB_CONNS=10", "ALDS_MEMBER_REQUESTS=20"}}, 60 * time.Second, func(i *installation) { holdWrites(i, 8) }},
		{"AldsRedisDown", plan{roles: allRoles}, 0, func(i *installation) {
			i.work()
			i.redis.Kill()
		}},
		{"AldsAttachmentsDown", plan{settings: []string{"ALDS_BLOB_URL=file://" + contents}}, 0, func(i *installation) {
			if err := os.Rename(contents, contents+".away"); err != nil {
				i.t.Fatal(err)
			}
		}},
		{"AldsDeliveryBehind", plan{roles: allRoles}, 60 * time.Second, func(i *installation) {
			i.subscribe("all stories", receiver)
			holdFanOut(i)
		}},
		{"AldsReceiverFailing", plan{settings: []string{"ALDS_WEBHOOK_RETRY_SCHEDULE=1s,1s,1s,1h"}}, 90 * time.Second, func(i *installation) {
			i.subscribe("broken", answering(i.t, http.StatusInternalServerError))
			i.mustPost("/api/asset", i.stories(1, 60))
		}},
		{"AldsReceiverBehind", plan{roles: allRoles, settings: []string{"ALDS_WEBHOOK_IN_FLIGHT=1"}}, 2 * time.Minute, func(i *installation) {
			i.subscribeBatch("slow", answeringLate(i.t, 5*time.Second), 1)
			i.mustPost("/api/asset", i.stories(60, 60))
		}},
		{"AldsSubscriptionDisabled", plan{}, 0, func(i *installation) {
			i.subscribe("gone", answering(i.t, http.StatusGone))
			i.mustPost("/api/asset", i.stories(1, 60))
		}},
		{"AldsPeriodicWorkOverdue", plan{}, 80 * time.Second, func(i *installation) { i.exec("ALTER TABLE webhook_receipt RENAME TO away") }},
		{"AldsServerErrors", plan{}, 60 * time.Second, func(i *installation) {
			i.exec("ALTER TABLE access_token RENAME TO away")
			i.repeat(200*time.Millisecond, func(ctx context.Context) { i.request(ctx, http.MethodGet, "/api/tokens", "admin", nil) })
		}},
		{"AldsRequestsRefused", plan{mysql: true, settings: []string{"ALDS_REQUEST_TIMEOUT=1s"}}, 60 * time.Second, func(i *installation) { holdWrites(i, 1) }},
		{"AldsAnswersBrokenOff", plan{mysql: true}, 60 * time.Second, cutAnswers},
		{"AldsPasswordsTried", plan{}, 80 * time.Second, func(i *installation) {
			tried := 0
			i.repeat(200*time.Millisecond, func(ctx context.Context) {
				tried++
				i.request(ctx, http.MethodGet, "/api/tokens", fmt.Sprint("name", tried), nil)
			})
		}},
	}
}

// answering starts a receiver that always answers with the given status.
func answering(t *testing.T, status int) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(s.Close)
	return s.URL
}

// answeringLate starts a receiver that delays each answer. The parameter takes is the delay.
func answeringLate(t *testing.T, takes time.Duration) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(takes):
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// hold executes statements in a transaction. The transaction stays open until the test ends.
func (i *installation) hold(statements ...string) {
	i.t.Helper()
	d, held, end, ended := i.open(), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- d.Write(context.Background(), func(tx *db.Tx) error {
			for _, s := range statements {
				if _, err := tx.Exec(context.Background(), s); err != nil {
					return err
				}
			}
			close(held)
			<-end
			return nil
		})
	}()
	select {
	case <-held:
	case err := <-ended:
		i.t.Fatalf("%s: locks: %v", i.job, err)
	}
	i.t.Cleanup(func() {
		close(end)
		if err := <-ended; err != nil { // the test may have killed the server
			i.t.Logf("%s: locks: %v", i.job, err)
		}
	})
}

// holdWrites locks a story and sends requests that change the story, so that they wait.
func holdWrites(i *installation, requests int) {
	i.mustPost("/api/asset", i.stories(1, 60))
	i.hold("UPDATE asset SET name = name WHERE name = 'story 0'")
	for range requests {
		i.repeat(time.Second, func(ctx context.Context) {
			i.post(ctx, "/api/asset", []any{map[string]any{"from": "Story", "where": map[string]any{"Name": "story 0"}, "update": map[string]any{"Description": "other"}}})
		})
	}
}

// kill kills a process. It also makes the time when the process was last seen a minute older.
func (i *installation) kill(n int) {
	i.t.Helper()
	i.processes[n].Kill()
	i.exec("UPDATE process SET seen = seen - 60000000 WHERE role = ?", i.processes[n].role)
}

// holdFanOut locks changes, so that a running worker cannot create deliveries for them. It also makes the
// changes a minute older.
func holdFanOut(i *installation) {
	i.processes[1].Kill()
	i.mustPost("/api/asset", i.stories(1, 60))
	i.exec("UPDATE audit SET at = at - 60000000 WHERE fan_state = 0")
	i.hold("UPDATE audit SET fan_lease = fan_lease WHERE fan_state = 0")
	i.start(1)
}

// cutAnswers kills the database connections while the service sends a large answer. It repeats that until
// an answer is cut off.
func cutAnswers(i *installation) {
	for range 20 {
		i.mustPost("/api/asset", i.stories(10, 200_000))
	}
	d, client := i.open(), slow()
	for range 20 {
		if i.cutAnswer(d, client) {
			return
		}
	}
	i.t.Errorf("%s: each answer was complete", i.job)
}

// cutAnswer reads an answer and kills the database connections meanwhile. It reports whether the answer was
// cut off.
func (i *installation) cutAnswer(d *db.DB, client *http.Client) bool {
	i.t.Helper()
	req, err := http.NewRequestWithContext(i.t.Context(), http.MethodPost, i.base+"/query.v1", strings.NewReader(`{"from": "Story", "select": ["Name", "Description"]}`))
	if err != nil {
		i.t.Fatal(err)
	}
	req.SetBasicAuth("admin", password)
	res, err := client.Do(req)
	if err != nil {
		i.t.Fatal(err)
	}
	defer res.Body.Close()
	_, err = res.Body.Read(make([]byte, 1000))
	i.killConnections(d)
	for buffer := make([]byte, 1<<20); err == nil; {
		_, err = res.Body.Read(buffer)
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// killConnections kills the database connections of the processes.
func (i *installation) killConnections(d *db.DB) {
	i.t.Helper()
	var kills []string
	err := db.Each(i.t.Context(), d, "SELECT CONCAT('KILL ', id) FROM information_schema.processlist WHERE db = DATABASE()", nil, func(row db.Scanner) error {
		kills = append(kills, "")
		return row.Scan(&kills[len(kills)-1])
	})
	if err != nil {
		i.t.Fatal(err)
	}
	for _, kill := range kills {
		_, _ = d.Exec(i.t.Context(), kill) // the connection may have ended, or may be the one of this test
	}
}

// slow returns a client with a small receive buffer. The usual buffer of a local connection would hold the
// whole answer.
func slow() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if tcp, ok := c.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(256 << 10)
		}
		return c, err
	}}}
}
