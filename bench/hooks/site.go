package main

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/bench/rig"
)

// site is the installation that is measured.
type site struct{ *rig.Site }

func newSite(ctx context.Context, o options, settings ...string) (*site, error) {
	s, err := rig.NewSite(ctx, rig.SiteOptions{
		Name: "hooks", MySQL: o.mysql, Redis: o.redis, Commands: []string{"api", "worker", "scheduler"}, Settings: settings,
	})
	return &site{s}, err
}

// subscribe creates a subscription to url and returns a function that removes it.
func (s *site) subscribe(url string, maxBatch int, definition map[string]any) (remove func() error, err error) {
	id, err := s.subscription(url, maxBatch, definition)
	return func() error { return s.Post("/api/webhook/delete/"+id, map[string]any{}, &struct{}{}) }, err
}

// subscription creates a subscription to url and returns its id. Nothing removes it.
func (s *site) subscription(url string, maxBatch int, definitions ...map[string]any) (id string, err error) {
	var made struct{ ID string }
	body := map[string]any{"url": url, "enabled": true, "eventTypes": definitions}
	if maxBatch > 0 {
		body["maxBatch"] = maxBatch
	}
	err = s.Post("/api/webhook", body, &made)
	return made.ID, err
}

// story returns the command that creates a story.
func story(name string) map[string]any {
	return map[string]any{"AssetType": "Story", "Name": name, "Scope": "Scope:0", "Estimate": 3}
}

// create creates n stories with one bulk request.
func (s *site) create(n int) error {
	all := make([]any, n)
	for i := range all {
		all[i] = story("Story " + strconv.Itoa(i))
	}
	_, err := s.Bulk(all)
	return err
}
