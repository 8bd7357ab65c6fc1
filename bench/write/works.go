package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// work is one row of the table. Both sides do the same work.
type work struct {
	name   string
	assets int // number of assets that one repetition creates or changes
	single bool
	// before creates the assets for one repetition. Its time is not measured.
	before func(ctx context.Context, s *sides) (about, error)
	body   func(a about) string
	floor  func(ctx context.Context, h *hand, a about) error
	// less is a second floor for single writes. Its guarantees are weaker than those of alds.
	less   func(ctx context.Context, h *hand, a about) error
	member bool // true: a Team Member sends the request, and the System Admin sends it as the floor
}

// about has the assets of one repetition of a work.
type about struct {
	scope   int64 // a project without other contents
	stories []int64
	owners  []int64
	n       int // different in each repetition
}

const text = "As a member I want to know what was changed"

func story(name, more string) string {
	return `{"AssetType":"Story","Name":"` + name + `","Scope":"Scope:0","Description":"` + text + `","Estimate":3` + more + `}`
}

// many returns a request body with n commands.
func many(n int, command func(i int) string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(command(i))
	}
	b.WriteByte(']')
	return b.String()
}

// children is the number of tasks of a nested story.
const children = 5

// works returns the rows of the table.
func works(o options) []work {
	most := 10 * o.scale
	inScope := func(a about, do string) string {
		return fmt.Sprintf(`{"from":"Story","where":{"Scope":"Scope:%d"},%s}`, a.scope, do)
	}
	return []work{
		{
			name: fmt.Sprintf("%d creates in one request", most), assets: most, before: nothing,
			body: func(about) string {
				return many(most, func(i int) string { return story("Story "+strconv.Itoa(i), "") })
			},
			floor: func(ctx context.Context, h *hand, _ about) error { return h.create(ctx, most, nil) },
		},
		{
			name: fmt.Sprintf("%d creates with two owners each", most), assets: most, before: members,
			body:  func(a about) string { return withOwners(most, a) },
			floor: func(ctx context.Context, h *hand, a about) error { return h.create(ctx, most, a.pair) },
		},
		{
			name: fmt.Sprintf("%d creates with two owners each, as Team Member against System Admin", most), assets: most, before: members, member: true,
			body: func(a about) string { return withOwners(most, a) },
		},
		{
			name: fmt.Sprintf("%d creates with %d children each, nested", o.scale, children), assets: o.scale * (1 + children), before: nothing,
			body: func(about) string {
				child := many(children, func(i int) string { return `{"AssetType":"Task","Name":"Task ` + strconv.Itoa(i) + `"}` })
				return many(o.scale, func(i int) string { return story("Story "+strconv.Itoa(i), `,"Children":`+child) })
			},
			floor: func(ctx context.Context, h *hand, _ about) error { return h.nested(ctx, o.scale) },
		},
		{
			name: fmt.Sprintf("update of %d by query", o.scale), assets: o.scale, before: project(o.scale),
			body: func(a about) string { return inScope(a, fmt.Sprintf(`"update":{"Estimate":%d}`, 4+a.n)) },
			floor: func(ctx context.Context, h *hand, a about) error {
				return h.change(ctx, a.scope, o.scale, "estimate = ?", 4+a.n)
			},
		},
		{
			name: fmt.Sprintf("delete of %d by query", o.scale), assets: o.scale, before: project(o.scale),
			body: func(a about) string { return inScope(a, `"execute":"Delete"`) },
			floor: func(ctx context.Context, h *hand, a about) error {
				return h.change(ctx, a.scope, o.scale, "state = ?", 255)
			},
		},
		{
			name: "single create", assets: 1, single: true, before: nothing,
			body:  func(a about) string { return story("Story "+strconv.Itoa(a.n), "") },
			floor: func(ctx context.Context, h *hand, _ about) error { return h.createOne(ctx) },
			less:  func(ctx context.Context, h *hand, _ about) error { return h.create(ctx, 1, nil) },
		},
		{
			name: "single update", assets: 1, single: true, before: project(1),
			body: func(a about) string {
				return fmt.Sprintf(`{"from":"Story:%d","update":{"Estimate":%d}}`, a.stories[0], 4+a.n)
			},
			floor: func(ctx context.Context, h *hand, a about) error { return h.updateOne(ctx, a.stories[0], 4+a.n) },
			less:  func(ctx context.Context, h *hand, a about) error { return h.updateAtOnce(ctx, a.stories[0], 4+a.n) },
		},
	}
}

// withOwners returns a request body that creates n stories with two owners each.
func withOwners(n int, a about) string {
	return many(n, func(i int) string {
		one, two := a.pair(i)
		return story("Story "+strconv.Itoa(i), fmt.Sprintf(`,"Owners":["Member:%d","Member:%d"]`, one, two))
	})
}

// pair returns the two owners of the ith story.
func (a about) pair(i int) (one, two int64) {
	return a.owners[i%len(a.owners)], a.owners[(i+1)%len(a.owners)]
}

func nothing(context.Context, *sides) (about, error) { return about{}, nil }

func members(_ context.Context, s *sides) (about, error) { return about{owners: s.members}, nil }

// project returns a function that creates a project with stories.
func project(stories int) func(context.Context, *sides) (about, error) {
	return func(_ context.Context, s *sides) (about, error) {
		made, err := s.post(many(1+stories, func(i int) string {
			if i == 0 {
				return `{"@p":{"AssetType":"Scope","Name":"Project","Parent":"Scope:0","BeginDate":"2026-01-01"}}`
			}
			return `{"AssetType":"Story","Name":"Story ` + strconv.Itoa(i) + `","Scope":"@p","Estimate":3}`
		}))
		if err != nil {
			return about{}, err
		}
		return about{scope: made[0], stories: made[1:]}, nil
	}
}
