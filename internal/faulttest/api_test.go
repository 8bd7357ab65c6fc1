package faulttest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	kills       = 5
	perRequest  = 400              // stories in one request
	bulkTimeout = 20 * time.Second // of one request; a killed api ends it at once
)

// request is one bulk request and what came of it.
type request struct {
	mark     string // Reference of all its stories
	answered bool   // with 200 and without failures
}

// TestBulkRequestsAreWholeOrAbsent kills the api in the middle of a series of
// bulk requests, at another point of a request each time.
func TestBulkRequestsAreWholeOrAbsent(t *testing.T) {
	s := newSite(t)
	api := s.startAPI()
	project := s.project("bulk")
	var requests []request
	send := func() time.Duration {
		r := request{mark: fmt.Sprintf("request-%d", len(requests))}
		ctx, cancel := context.WithTimeout(t.Context(), bulkTimeout)
		defer cancel()
		start := time.Now()
		var b bulk
		err := s.post(ctx, "/api/asset", stories(project, r.mark), &b)
		r.answered = err == nil && len(b.AssetsCreated.OIDTokens) == perRequest && b.CommandFailures.Count == 0
		requests = append(requests, r)
		return time.Since(start)
	}
	usual := min(send(), send()) // the second is the usual one: everything is prepared
	for i := range kills {
		send()
		// the kill falls into the request that is sent meanwhile, later each time
		timer := time.AfterFunc(usual*time.Duration(2*i+1)/(2*kills), func() { _ = api.cmd.Process.Kill() })
		send()
		timer.Stop()
		api.kill()
		api = s.startAPI()
	}
	send()
	judge(t, s, project, requests)
	s.sound()
}

func stories(project, mark string) []map[string]any {
	all := make([]map[string]any, perRequest)
	for i := range all {
		all[i] = map[string]any{
			"AssetType": "Story", "Scope": project, "Reference": mark,
			"Name": fmt.Sprintf("%s, story %d", mark, i), "Owners": "Member:20",
		}
	}
	return all
}

// judge counts what is there of each request.
func judge(t *testing.T, s *site, project string, requests []request) {
	t.Helper()
	answered, absent, silent := 0, 0, 0
	for _, r := range requests {
		var sets [][]struct {
			Name   string
			Owners []struct{}
		}
		s.mustPost("/query.v1", map[string]any{
			"from": "Story", "where": map[string]any{"Scope": project, "Reference": r.mark}, "select": []string{"Name", "Owners"},
		}, &sets)
		there, owned := len(sets[0]), 0
		for _, row := range sets[0] {
			owned += len(row.Owners)
		}
		switch {
		case there != 0 && there != perRequest || owned != there:
			t.Errorf("%s is half there: %d of %d stories, %d owners", r.mark, there, perRequest, owned)
		case r.answered && there == 0:
			t.Errorf("%s was answered 200 and is absent", r.mark)
		case r.answered:
			answered++
		case there == 0:
			absent++
		default:
			silent++
		}
	}
	t.Logf("%d requests answered and whole, %d not answered and absent, %d not answered and whole", answered, absent, silent)
	if answered < kills+2 {
		t.Errorf("only %d of %d requests were answered", answered, len(requests))
	}
	if absent+silent == 0 {
		t.Error("no kill fell into a request")
	}
}
