package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// Password is the password of a Site's administrator.
const Password = "a password for benches"

// Site is a separate installation: a database, the compiled commands, and the processes that
// run them.
type Site struct {
	Admin *db.DB // the database server; nil on SQLite
	Name  string // name of the database
	Addr  string // address of the api
	Base  string // URL of the instance
	URL   string // URL of the database

	dir     string
	env     []string
	stderr  *os.File
	running map[string]*exec.Cmd
	watched map[string]string // key: name of a process; value: address of its metrics
	client  *http.Client
}

// SiteOptions describes a Site.
type SiteOptions struct {
	Name     string   // name of the bench
	MySQL    string   // URL of the server; empty: standalone on SQLite
	Redis    string   // URL of the queue
	Commands []string // commands below cmd to start
	Settings []string // NAME=value
	Silent   bool     // discard the logs of the commands
	Dir      string   // folder of another source tree to build; empty: this one
}

// NewSite builds the commands, creates a database and starts each command under the command's
// name. The caller must close the Site.
func NewSite(ctx context.Context, o SiteOptions) (s *Site, err error) {
	s = &Site{
		Name: "alds_bench_" + o.Name + "_" + strconv.Itoa(os.Getpid()), running: map[string]*exec.Cmd{},
		watched: map[string]string{}, client: &http.Client{Timeout: time.Minute}, stderr: os.Stderr,
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if o.Silent {
		if s.stderr, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return s, err
		}
	}
	if s.dir, err = os.MkdirTemp("", "alds-bench"); err != nil {
		return s, err
	}
	if s.Addr, err = FreeAddr(); err != nil {
		return s, err
	}
	s.Base = "http://" + s.Addr + "/alds"
	if err = s.build(ctx, o); err != nil {
		return s, err
	}
	s.env = append(os.Environ(), "ALDS_ADDR="+s.Addr, "ALDS_ADMIN_PASSWORD="+Password, "ALDS_WEBHOOK_ALLOW_PRIVATE=1",
		"ALDS_LOG_LEVEL=error")
	if err = s.prepare(ctx, o); err != nil {
		return s, err
	}
	for _, name := range o.Commands {
		if err = s.Start(name, name); err != nil {
			return s, err
		}
	}
	return s, s.Await(ctx)
}

func (s *Site) build(ctx context.Context, o SiteOptions) error {
	args := []string{"build", "-o", s.dir + "/"}
	for _, name := range o.Commands {
		args = append(args, "github.com/alds-dev/alds/cmd/"+name)
	}
	build := exec.CommandContext(ctx, "go", args...)
	build.Dir = o.Dir
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, text)
	}
	return nil
}

// prepare creates and migrates the database. The command standalone creates its database
// itself.
func (s *Site) prepare(ctx context.Context, o SiteOptions) (err error) {
	if o.MySQL == "" {
		s.URL = "sqlite:" + filepath.Join(s.dir, "data", "alds.db")
		s.env = append(s.env, "ALDS_DATA_DIR="+filepath.Join(s.dir, "data"))
		s.env = append(s.env, o.Settings...)
		return nil
	}
	if s.Admin, err = db.Open(ctx, o.MySQL+"/mysql", db.Options{}); err != nil {
		return err
	}
	if _, err = s.Admin.Exec(ctx, "CREATE DATABASE "+s.Name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		return err
	}
	s.URL = o.MySQL + "/" + s.Name
	s.env = append(s.env, "DATABASE_URL="+s.URL, "REDIS_URL="+o.Redis, "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=")
	s.env = append(s.env, o.Settings...)
	migrate := exec.CommandContext(ctx, filepath.Join(s.dir, "api"), "migrate")
	migrate.Env = s.env
	if text, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w\n%s", err, text)
	}
	return nil
}

// Start starts a command under a name.
func (s *Site) Start(name, command string) error {
	addr, err := FreeAddr()
	if err != nil {
		return err
	}
	s.watched[name] = addr
	cmd := exec.Command(filepath.Join(s.dir, command))
	cmd.Env = slices.Concat(s.env, []string{"ALDS_ADMIN_ADDR=" + addr})
	cmd.Stderr = s.stderr
	s.running[name] = cmd
	return cmd.Start()
}

// Stop interrupts a process by its name and waits for its end.
func (s *Site) Stop(name string) {
	cmd := s.running[name]
	delete(s.running, name)
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
}

// Close stops all processes and drops the database.
func (s *Site) Close() error {
	for name := range s.running {
		s.Stop(name)
	}
	_ = os.RemoveAll(s.dir)
	if s.Admin == nil {
		return nil
	}
	_, err := s.Admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+s.Name)
	return errors.Join(err, s.Admin.Close())
}

// Await waits until the api answers.
func (s *Site) Await(ctx context.Context) error {
	for range 500 {
		if res, err := s.client.Get(s.Base); err == nil {
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

// Analyze updates the planner statistics of the database server, so that they are as current as
// in a database in use.
func (s *Site) Analyze(ctx context.Context) error {
	for _, table := range []string{"asset", "asset_link", "asset_version"} {
		if _, err := s.Admin.Exec(ctx, "ANALYZE TABLE `"+s.Name+"`.`"+table+"`"); err != nil {
			return err
		}
	}
	return nil
}

// AdminAddr returns the address at which a process serves its metrics.
func (s *Site) AdminAddr(name string) string { return s.watched[name] }

// CPU returns the processor time that all processes have used so far.
func (s *Site) CPU() time.Duration {
	var all time.Duration
	for _, cmd := range s.running {
		all += cpu(cmd.Process.Pid)
	}
	return all
}

// cpu returns the processor time that a process of this machine has used so far, or 0 if it is
// not known.
func cpu(pid int) time.Duration {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	ticks := 0
	for _, f := range fields[11:13] { // utime, stime
		n, _ := strconv.Atoi(f)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// Memory returns the resident memory of a process in bytes, or 0 if it is not known.
func (s *Site) Memory(name string) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(s.running[name].Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	value, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kib, _ := strconv.ParseInt(value, 10, 64)
	return kib << 10
}

// ErrBusy means status 503: the request had no effect and can be sent again.
var ErrBusy = errors.New("answered 503")

// Post sends a request as the administrator and decodes the answer.
func (s *Site) Post(path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, s.Base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.SetBasicAuth("admin", Password)
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	if res.StatusCode == http.StatusServiceUnavailable {
		return fmt.Errorf("%s: %w: %.300s", path, ErrBusy, text)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d: %.300s", path, res.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}

// Bulk sends commands as the administrator and returns the Oids of the created assets. It returns
// an error if a command fails.
func (s *Site) Bulk(commands any) ([]string, error) {
	var answer struct {
		AssetsCreated   struct{ OIDTokens []string } `json:"assetsCreated"`
		CommandFailures struct {
			Count    int
			Commands []json.RawMessage
		} `json:"commandFailures"`
	}
	if err := s.Post("/api/asset", commands, &answer); err != nil {
		return nil, err
	}
	if f := answer.CommandFailures; f.Count != 0 {
		return nil, fmt.Errorf("%d commands failed, such as %.300s", f.Count, f.Commands)
	}
	return answer.AssetsCreated.OIDTokens, nil
}

// many is the number of assets that Many creates with one request.
const many = 1_000

// Many creates n assets in several requests and returns their Oids.
func (s *Site) Many(n int, command func(i int) any) (oids []string, err error) {
	for from := 0; from < n; from += many {
		var all []any
		for i := from; i < min(n, from+many); i++ {
			all = append(all, command(i))
		}
		made, err := s.Bulk(all)
		if err != nil {
			return nil, err
		}
		oids = append(oids, made...)
	}
	if len(oids) != n {
		return nil, fmt.Errorf("%d of %d assets were created", len(oids), n)
	}
	return oids, nil
}
