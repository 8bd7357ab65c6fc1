package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

const (
	projects = 12
	atOnce   = 500 // commands of one request
)

// world has the contents of a side.
type world struct {
	scopes, teams, epics, members []string // Oid tokens
	stories                       []string
	instants                      []time.Time // times at which the stories were being changed
}

func (s *side) fill(o options, texts []rig.Text) error {
	var err error
	made := func(n int, command func(i int) map[string]any) (oids []string) {
		if err == nil {
			oids, err = s.Many(n, func(i int) any { return command(i) })
		}
		return oids
	}
	s.scopes = made(projects, func(i int) map[string]any {
		return map[string]any{"AssetType": "Scope", "Name": fmt.Sprintf("Project %d", i), "Parent": "Scope:0", "BeginDate": "2026-01-01"}
	})
	s.teams = made(20, func(i int) map[string]any {
		return map[string]any{"AssetType": "Team", "Name": fmt.Sprintf("Team %d", i)}
	})
	s.members = made(40, func(i int) map[string]any {
		name := fmt.Sprintf("m%d", i)
		return map[string]any{"AssetType": "Member", "Name": name, "Nickname": name, "Username": name, "DefaultRole": "Role:4", "Scopes": []string{"Scope:0"}}
	})
	s.epics = made(projects*20, func(i int) map[string]any {
		return map[string]any{"AssetType": "Epic", "Name": fmt.Sprintf("Epic %d", i), "Scope": s.scopes[i%projects]}
	})
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // both sides do the same
	for len(s.stories) < o.stories {
		if s.stories, err = s.more(r, texts); err != nil {
			return err
		}
		for range o.changes {
			if _, err := s.Bulk(s.changes(r, atOnce)); err != nil {
				return err
			}
		}
		if n := len(s.stories); n*4/o.stories > (n-atOnce)*4/o.stories {
			s.instants = append(s.instants, time.Now())
		}
	}
	return nil
}

// more creates some stories and returns all stories so far.
func (s *side) more(r *rand.Rand, texts []rig.Text) ([]string, error) {
	var all []any
	for range atOnce {
		all = append(all, s.story(r, texts))
	}
	made, err := s.Bulk(all)
	return append(s.stories, made...), err
}

// story returns a command that creates a story.
func (s *side) story(r *rand.Rand, texts []rig.Text) map[string]any {
	scope, t := r.IntN(projects), texts[r.IntN(len(texts))]
	c := map[string]any{
		"AssetType": "Story", "Name": t.Name, "Description": t.Description, "Scope": s.scopes[scope], "Estimate": r.IntN(13),
		"Team": s.teams[r.IntN(len(s.teams))],
	}
	if r.IntN(3) == 0 {
		c["Super"] = s.epics[r.IntN(20)*projects+scope]
	}
	return c
}

// changes returns commands that change one or two small attributes, each of another story.
// Newer stories are changed more often.
func (s *side) changes(r *rand.Rand, n int) []any {
	var all []any
	taken := map[int]bool{}
	for len(all) < n {
		i := len(s.stories) - 1 - int(float64(len(s.stories))*math.Pow(r.Float64(), 3))
		if taken[i] {
			i = r.IntN(len(s.stories))
		}
		if !taken[i] {
			taken[i] = true
			all = append(all, map[string]any{"from": s.stories[i], "update": s.change(r)})
		}
		if len(taken) == len(s.stories) {
			break
		}
	}
	return all
}

func (s *side) change(r *rand.Rand) map[string]any {
	status, estimate := fmt.Sprintf("StoryStatus:%d", 133+r.IntN(3)), r.IntN(1000)
	switch r.IntN(10) {
	case 0, 1, 2:
		return map[string]any{"Status": status, "Estimate": estimate}
	case 3, 4, 5:
		return map[string]any{"Estimate": estimate}
	case 6, 7:
		return map[string]any{"Estimate": estimate, "Team": s.teams[r.IntN(len(s.teams))]}
	case 8:
		return map[string]any{"ToDo": r.IntN(100)}
	}
	return map[string]any{"Owners": map[string]any{"add": []string{s.members[r.IntN(len(s.members))]}}, "Estimate": estimate}
}
