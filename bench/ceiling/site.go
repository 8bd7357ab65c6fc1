package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

const (
	command  = "api"
	projects = 8
)

// site is the installation that is measured.
type site struct {
	*rig.Site

	o       options
	started []string // names of the processes
}

// world has the data for the writes.
type world struct {
	scopes  []string // Oid tokens
	stories []int64
	tokens  []string // of the members, one for each client
}

func newSite(ctx context.Context, o options) (*site, error) {
	s, err := rig.NewSite(ctx, rig.SiteOptions{
		Name: "ceiling", MySQL: o.mysql, Redis: o.redis, Silent: true, Commands: []string{command}, Settings: []string{"ALDS_LOG_LEVEL=info"},
	})
	return &site{Site: s, o: o, started: []string{command}}, err
}

// fill creates projects, members and stories through the interface, and then stops the process
// that did it.
func (s *site) fill(ctx context.Context) (*world, error) {
	w := &world{}
	var err error
	if w.scopes, err = s.Many(projects, func(i int) any {
		return map[string]any{"AssetType": "Scope", "Name": "Project " + strconv.Itoa(i), "Parent": "Scope:0", "BeginDate": "2026-01-01"}
	}); err != nil {
		return nil, err
	}
	members := slices.Max(s.o.clients)
	if _, err := s.Many(members, func(i int) any {
		return map[string]any{
			"AssetType": "Member", "Name": "Member " + strconv.Itoa(i), "Nickname": username(i), "Username": username(i),
			"DefaultRole": "Role:4", "Scopes": []string{"Scope:0"},
		}
	}); err != nil {
		return nil, err
	}
	stories, err := s.Many(s.o.stories, func(i int) any {
		return map[string]any{
			"AssetType": "Story", "Name": name(i), "Scope": w.scopes[i%projects], "Estimate": i % 13, "Description": description,
		}
	})
	if err != nil {
		return nil, err
	}
	w.stories = make([]int64, len(stories))
	for i, oid := range stories {
		if w.stories[i], err = strconv.ParseInt(oid[len("Story:"):], 10, 64); err != nil {
			return nil, err
		}
	}
	if w.tokens, err = s.letIn(ctx, members); err != nil {
		return nil, err
	}
	s.stopAll()
	return w, s.analyze(ctx)
}

func username(i int) string { return "writes" + strconv.Itoa(i) }

// letIn creates a token for each member.
func (s *site) letIn(ctx context.Context, members int) ([]string, error) {
	d, err := db.Open(ctx, s.URL, db.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	logins, err := auth.New(d, meta.Default(), auth.Options{})
	if err != nil {
		return nil, err
	}
	tokens := make([]string, members)
	for i := range tokens {
		if tokens[i], err = logins.CreateToken(ctx, username(i), auth.TokenOptions{Name: "bench"}); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// analyze updates the planner statistics of the database, so that they are as current as in a
// database in use.
func (s *site) analyze(ctx context.Context) error {
	for _, table := range []string{"asset", "asset_version", "asset_link", "asset_value", "audit", "credential", "access_token", "scope_member", "scope_closure"} {
		if _, err := s.Admin.Exec(ctx, "ANALYZE TABLE `"+s.Name+"`.`"+table+"`"); err != nil {
			return err
		}
	}
	return nil
}

// startAll starts n api processes on a database and returns their addresses after all of them
// answer.
func (s *site) startAll(ctx context.Context, n int, database string) ([]string, error) {
	var addrs []string
	for i := range n {
		addr, err := rig.FreeAddr()
		if err != nil {
			return nil, err
		}
		name := command + " " + strconv.Itoa(1+i)
		if err := s.Start(name, command, "ALDS_ADDR="+addr, "DATABASE_URL="+database); err != nil {
			return nil, err
		}
		s.started, addrs = append(s.started, name), append(addrs, addr)
	}
	for _, addr := range addrs {
		if err := await(ctx, "http://"+addr+"/alds"); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// stopAll stops all processes.
func (s *site) stopAll() {
	for _, name := range s.started {
		s.Stop(name)
	}
	s.started = nil
}

// await waits until an api answers.
func await(ctx context.Context, address string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1_000 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			return res.Body.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return errors.New("an api does not answer")
}
