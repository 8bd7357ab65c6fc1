package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// waiting starts a role whose database does not answer. It returns the first line of the log, which
// must report that the database does not answer.
func waiting(t *testing.T, ctx context.Context, admin string, role Role) (line map[string]any, ended <-chan error) { //nolint:revive // the context ends the role
	t.Helper()
	settings := map[string]string{
		"DATABASE_URL": "mysql://root:hush@127.0.0.1:1/x", "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey,
		"ALDS_ADDR": "127.0.0.1:0", "ALDS_ADMIN_ADDR": admin,
	}
	l, end := newLines(), make(chan error, 1)
	go func() {
		end <- Run(ctx, Environment{Getenv: func(k string) string { return settings[k] }, Stderr: l.w}, role)
		l.w.Close()
	}()
	select {
	case text := <-l.all:
		if err := json.Unmarshal([]byte(text), &line); err != nil || strings.Contains(text, "hush") {
			t.Fatalf("%v: %s", err, text)
		}
	case err := <-end:
		t.Fatalf("it ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("it says nothing")
	}
	if line["msg"] != "the database does not answer, trying again" {
		t.Errorf("it says %v", line)
	}
	if pause, _ := line["pause_ms"].(float64); pause < 400 || pause > 600 {
		t.Errorf("the first pause: %v ms", line["pause_ms"])
	}
	return line, end
}

func TestRolesWaitForADatabaseThatDoesNotAnswer(t *testing.T) {
	for _, role := range []Role{API, Worker, Scheduler} {
		t.Run(role.Name, func(t *testing.T) {
			admin := "127.0.0.1:" + testdb.Port(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			_, ended := waiting(t, ctx, admin, role)
			for path, want := range map[string]struct {
				status int
				body   string
			}{"/healthz": {200, "ok"}, "/readyz": {503, "the database does not answer"}, "/metrics": {200, "alds_app_build_info"}} {
				res, err := http.Get("http://" + admin + path)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode != want.status || !strings.Contains(string(body), want.body) {
					t.Errorf("%s: %d %s %v", path, res.StatusCode, body, err)
				}
			}
			stop()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("told to stop: %v", err)
				}
			case <-time.After(time.Minute):
				t.Error("it does not stop")
			}
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// onMessage returns a log that calls a function with each message. The service waits until the
// function returns.
func onMessage(do func(msg string)) io.Writer {
	return writerFunc(func(line []byte) (int, error) {
		var at struct{ Msg string }
		_ = json.Unmarshal(line, &at)
		do(at.Msg)
		return len(line), nil
	})
}

func TestARoleThatIsStoppedWhileItStartsEndsInOrder(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	settings := map[string]string{"ALDS_DATA_DIR": t.TempDir(), "ALDS_ADDR": "127.0.0.1:0"}
	log := onMessage(func(msg string) {
		if msg == "the database" { // the database is ready, but the parts of the role do not run yet
			stop()
		}
	})
	if err := Run(ctx, Environment{Getenv: env(settings), Stderr: log}, Standalone); err != nil {
		t.Errorf("it ended: %v", err)
	}
}

func TestADatabaseThatGoesAwayWhileARoleStartsIsWaitedFor(t *testing.T) {
	address, err := url.Parse(testdb.EmptyURL(t, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	line := testdb.NewLine(t, address.Host)
	address.Host = line.Addr
	settings := env(map[string]string{
		"DATABASE_URL": address.String(), "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey, "ALDS_ADDR": "0.0.0.0:0",
	})
	if err := Migrate(t.Context(), Environment{Getenv: settings, Stderr: io.Discard}, API); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	waited, started := 0, false
	log := onMessage(func(msg string) {
		switch msg {
		case "the database": // the database is ready
			line.Cut()
		case "the database does not answer, trying again":
			waited++
			line.Mend()
		case "started":
			started = true
			stop()
		}
	})
	if err := Run(ctx, Environment{Getenv: settings, Stderr: log}, API); err != nil || waited == 0 || !started {
		t.Errorf("it ended: %v, waited %d times, started: %t", err, waited, started)
	}
}

func TestPausesVaryALittle(t *testing.T) {
	for range 1000 {
		if d := withJitter(time.Second); d < 800*time.Millisecond || d > 1200*time.Millisecond {
			t.Fatalf("a pause of a second lasts %s", d)
		}
	}
}
