package httpapi

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/feed"
)

// Changes is the feed of all changes.
type Changes interface {
	Page(ctx context.Context, who auth.Actor, r feed.Request) (feed.Page, error)
	// Wait returns nil when the feed has changes after the position head, or an error when ctx
	// ends.
	Wait(ctx context.Context, head int64) error
}

// eventStream is the media type of live streams.
const eventStream = "text/event-stream"

// maxLongPoll is the longest wait that a request may ask for, in seconds.
const maxLongPoll = 60

// changes serves GET api/changes. If the request waits, or asks for a live stream, follow
// continues it. Spec: interface 4.12.
func (a *API) changes(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	p := r.params
	f := &follower{ask: feed.Request{
		After: p["after"], Page: p["page"], Type: p["type"], From: p["from"], Attributes: p["attributes"],
		Filter: p["filter"], With: p["with"], Select: p["select"], UserContext: p["usercontext"],
	}, stream: strings.Contains(strings.ToLower(r.accept), eventStream)}
	if f.stream {
		if !r.http11 {
			return nil, fault.Invalidf(fault.NoPlace, "A live stream needs HTTP/1.1")
		}
		if r.lastEventID != "" {
			f.ask.After = r.lastEventID
		}
	}
	var err error
	if f.wait, err = longPoll(p["wait"]); err != nil {
		return nil, err
	}
	if f.page, err = r.engines.Changes.Page(ctx, who, f.ask); err != nil {
		return nil, err
	}
	if f.stream || f.wait > 0 && f.isEmpty() {
		if r.follow = f; f.stream {
			r.contentType = eventStream
		}
		return nil, nil
	}
	a.m.events.Add(float64(len(f.page.Events)))
	return f.page.Body(), nil
}

// longPoll reads the parameter wait, a number of seconds. Errors: fault.Invalid.
func longPoll(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxLongPoll {
		return 0, fault.Invalidf(fault.NoPlace, "Invalid wait: %s (wanted: a number of seconds from 0 to %d)", text, maxLongPoll)
	}
	return time.Duration(n) * time.Second, nil
}
