package main

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Numbers of the installation, in addition to the stories and logins of the flags.
const (
	projects = 8
	people   = 200 // working members: they have a token, and a password that becomes known during the run
	everyone = 20  // one in this many working members sees all projects, the others one or two

	password = "a password of a member"
	chunk    = 1_000 // commands of one bulk request
)

// site is the installation that is measured.
type site struct {
	*rig.Site

	o       options
	command string
}

func newSite(ctx context.Context, o options) (*site, error) {
	s := &site{o: o, command: "api"}
	at := rig.SiteOptions{Name: "overload", MySQL: o.mysql, Redis: o.redis, Silent: true}
	if o.sqlite {
		s.command, at.MySQL = "standalone", ""
	}
	at.Commands, at.Settings = []string{s.command}, []string{"ALDS_LOG_LEVEL=info"}
	if o.balancer {
		at.Settings = append(at.Settings, "ALDS_TRUSTED_PROXIES=127.0.0.1")
	}
	var err error
	s.Site, err = rig.NewSite(ctx, at)
	return s, err
}

// person is a member that sends requests.
type person struct {
	oid, username, token string
	project              int // the member's first project
}

// world has the data for the requests.
type world struct {
	scopes  []string   // Oid tokens
	stories [][]string // by project
	people  []person
	logins  []person // members with one project, for first logins
}

// fill creates projects, members and stories through the interface. Then it restarts the
// process, so that its caches are empty.
func (s *site) fill(ctx context.Context) (*world, error) {
	w := &world{}
	var err error
	if w.scopes, err = s.Many(projects, func(i int) any {
		return map[string]any{"AssetType": "Scope", "Name": "Project " + strconv.Itoa(i), "Parent": "Scope:0", "BeginDate": "2026-01-01"}
	}); err != nil {
		return nil, err
	}
	if w.people, err = s.members("works", people, projects); err != nil {
		return nil, err
	}
	if w.logins, err = s.members("comes", s.o.logins, projects); err != nil {
		return nil, err
	}
	if err := s.assign(w); err != nil {
		return nil, err
	}
	if err := s.addStories(w); err != nil {
		return nil, err
	}
	if err := s.letIn(ctx, w); err != nil {
		return nil, err
	}
	if err := s.analyze(ctx); err != nil {
		return nil, err
	}
	s.Stop(s.command)
	if err := s.Start(s.command, s.command); err != nil {
		return nil, err
	}
	return w, s.Await(ctx)
}

// analyze updates the planner statistics of the database, so that they are as current as in a
// database in use.
func (s *site) analyze(ctx context.Context) error {
	if s.Admin == nil {
		return nil
	}
	for _, table := range []string{"asset", "asset_version", "asset_link", "asset_value", "audit", "credential", "access_token", "scope_member", "scope_closure"} {
		if _, err := s.Admin.Exec(ctx, "ANALYZE TABLE `"+s.Name+"`.`"+table+"`"); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) members(name string, n, projects int) ([]person, error) {
	all := make([]person, n)
	oids, err := s.Many(n, func(i int) any {
		all[i] = person{username: name + strconv.Itoa(i), project: i % projects}
		return map[string]any{
			"AssetType": "Member", "Name": "Member " + all[i].username, "Nickname": all[i].username, "Username": all[i].username,
			"DefaultRole": "Role:4",
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].oid = oids[i]
	}
	return all, nil
}

// assign gives the members their roles in projects.
func (s *site) assign(w *world) error {
	of := map[string][]any{}
	give := func(p person, scope string) {
		of[scope] = append(of[scope], map[string]any{"Member": p.oid, "Role": "Role:4", "IsOwner": false})
	}
	for i, p := range w.people {
		give(p, w.scopes[p.project])
		if i%4 == 0 {
			give(p, w.scopes[(p.project+1+i/projects%(projects-1))%projects])
		}
		if i%everyone == 0 {
			give(p, "Scope:0")
		}
	}
	for _, p := range w.logins {
		give(p, w.scopes[p.project])
	}
	for scope, list := range of {
		for from := 0; from < len(list); from += chunk {
			command := map[string]any{"from": scope, "execute": map[string]any{
				"op": "AssignMemberWithRole", "list": list[from:min(len(list), from+chunk)],
			}}
			if _, err := s.Bulk([]any{command}); err != nil {
				return err
			}
		}
	}
	return nil
}

// addStories creates the stories. About half of them are in the first two projects. The owner
// of each story sees its project.
func (s *site) addStories(w *world) error {
	at := make([]int, s.o.stories)
	oids, err := s.Many(len(at), func(i int) any {
		if at[i] = i % projects; i%3 == 0 {
			at[i] = i / 3 % 2
		}
		owner := w.people[(i*7%(people/projects))*projects+at[i]]
		return map[string]any{
			"AssetType": "Story", "Name": "Story " + strconv.Itoa(i) + " of the backlog", "Scope": w.scopes[at[i]],
			"Description": "As a member I want to know what was changed", "Estimate": i % 13, "Owners": []string{owner.oid},
		}
	})
	if err != nil {
		return err
	}
	w.stories = make([][]string, projects)
	for i, oid := range oids {
		w.stories[at[i]] = append(w.stories[at[i]], oid)
	}
	return nil
}

// letIn creates tokens for the working members and sets the same password for all members. It
// sets one password and copies the hash, because each hash costs as much as a login.
func (s *site) letIn(ctx context.Context, w *world) error {
	if _, err := s.Bulk(map[string]any{"from": w.people[0].oid, "update": map[string]any{"Password": password}}); err != nil {
		return err
	}
	d, err := db.Open(ctx, s.URL, db.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	var hash string
	if err := d.QueryRow(ctx, "SELECT password_hash FROM credential WHERE username = ?", w.people[0].username).Scan(&hash); err != nil {
		return err
	}
	if _, err := d.Exec(ctx, "UPDATE credential SET password_hash = ?, version = version + 1 WHERE password_hash IS NULL", hash); err != nil {
		return err
	}
	logins, err := auth.New(d, meta.Default(), auth.Options{})
	if err != nil {
		return err
	}
	for i := range w.people {
		p := &w.people[i]
		if p.token, err = logins.CreateToken(ctx, p.username, auth.TokenOptions{Name: "bench"}); err != nil {
			return err
		}
	}
	return nil
}
