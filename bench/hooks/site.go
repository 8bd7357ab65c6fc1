package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/db"
)

const password = "a password for benches"

// site is an installation of its own: a database, the built commands, and the
// processes started on them.
type site struct {
	admin   *db.DB
	name    string // of the database
	dir     string
	env     []string
	base    string
	running map[string]*exec.Cmd
	watched map[string]string // addresses of their metrics
	client  *http.Client
}

func newSite(ctx context.Context, o options, settings ...string) (s *site, err error) {
	s = &site{
		name: "alds_bench_hooks_" + strconv.Itoa(os.Getpid()), running: map[string]*exec.Cmd{},
		watched: map[string]string{}, client: &http.Client{Timeout: time.Minute},
	}
	if s.admin, err = db.Open(ctx, o.mysql+"/mysql", db.Options{}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if _, err = s.admin.Exec(ctx, "CREATE DATABASE "+s.name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		return s, err
	}
	if s.dir, err = os.MkdirTemp("", "alds-bench"); err != nil {
		return s, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", s.dir+"/", "./cmd/api", "./cmd/worker", "./cmd/scheduler")
	if text, err := build.CombinedOutput(); err != nil {
		return s, fmt.Errorf("build the commands: %w\n%s", err, text)
	}
	addr, err := freeAddr()
	if err != nil {
		return s, err
	}
	s.base = "http://" + addr + "/alds"
	s.env = append(os.Environ(), "ALDS_ADDR="+addr, "DATABASE_URL="+o.mysql+"/"+s.name, "REDIS_URL="+o.redis,
		"ALDS_ADMIN_PASSWORD="+password, "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=", "ALDS_WEBHOOK_ALLOW_PRIVATE=1",
		"ALDS_LOG_LEVEL=error")
	s.env = append(s.env, settings...)
	migrate := exec.CommandContext(ctx, filepath.Join(s.dir, "api"), "migrate")
	migrate.Env = s.env
	if text, err := migrate.CombinedOutput(); err != nil {
		return s, fmt.Errorf("migrate: %w\n%s", err, text)
	}
	for _, name := range []string{"api", "worker", "scheduler"} {
		if err := s.start(name, name); err != nil {
			return s, err
		}
	}
	return s, s.await(ctx)
}

// start starts a command under a name of its own.
func (s *site) start(name, command string) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	s.watched[name] = addr
	cmd := exec.Command(filepath.Join(s.dir, command))
	cmd.Env = slices.Concat(s.env, []string{"ALDS_ADMIN_ADDR=" + addr})
	cmd.Stderr = os.Stderr
	s.running[name] = cmd
	return cmd.Start()
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (s *site) stop(name string) {
	cmd := s.running[name]
	delete(s.running, name)
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
}

func (s *site) close() error {
	for name := range s.running {
		s.stop(name)
	}
	_ = os.RemoveAll(s.dir)
	_, err := s.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+s.name)
	return errors.Join(err, s.admin.Close())
}

func (s *site) await(ctx context.Context) error {
	for range 500 {
		if res, err := s.client.Get(s.base); err == nil {
			return res.Body.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return errors.New("the api does not answer")
}

// cpu is what all processes have used so far.
func (s *site) cpu() time.Duration {
	ticks := 0
	for _, cmd := range s.running {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		for _, f := range fields[11:13] { // utime, stime
			n, _ := strconv.Atoi(f)
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / 100
}

// errBusy is a 503: nothing was done, and the request may be sent again.
var errBusy = errors.New("answered 503")

// post sends a request and decodes the answer.
func (s *site) post(path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, s.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.SetBasicAuth("admin", password)
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	if res.StatusCode == http.StatusServiceUnavailable {
		return fmt.Errorf("%s: %w: %.300s", path, errBusy, text)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d: %.300s", path, res.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}

// subscribe makes a subscription to url and returns what removes it.
func (s *site) subscribe(url string, maxBatch int, definition map[string]any) (remove func() error, err error) {
	id, err := s.subscription(url, maxBatch, definition)
	return func() error { return s.post("/api/webhook/delete/"+id, map[string]any{}, &struct{}{}) }, err
}

// subscription is subscribe for one that stays; it returns its id.
func (s *site) subscription(url string, maxBatch int, definitions ...map[string]any) (id string, err error) {
	var made struct{ ID string }
	body := map[string]any{"url": url, "enabled": true, "eventTypes": definitions}
	if maxBatch > 0 {
		body["maxBatch"] = maxBatch
	}
	err = s.post("/api/webhook", body, &made)
	return made.ID, err
}

// story is a creation as the benches ask for it.
func story(name string) map[string]any {
	return map[string]any{"AssetType": "Story", "Name": name, "Scope": "Scope:0", "Estimate": 3}
}

// create makes stories by one bulk request.
func (s *site) create(n int) error {
	all := make([]any, n)
	for i := range all {
		all[i] = story("Story " + strconv.Itoa(i))
	}
	var answer struct {
		CommandFailures struct{ Count int } `json:"commandFailures"`
	}
	err := s.post("/api/asset", all, &answer)
	if err == nil && answer.CommandFailures.Count != 0 {
		err = fmt.Errorf("%d commands failed", answer.CommandFailures.Count)
	}
	return err
}
