package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/bulk"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/doc"
	"github.com/alds-dev/alds/internal/find"
	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/jobs"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/webhook"
)

// reader answers httpapi.Queries: documents and paths to requests, requests to
// rows, all of one call in one snapshot.
type reader struct {
	db   *db.DB
	find *find.Finder
}

// Rows answers query.v1. Shape: [[row, …], …], one list per query; beside it
// [{"next": …, "total": …, "explain": …}, …] when a query asks for any of that.
// The answer is streamed, unless something is asked beside the rows, which goes
// into the header before them.
func (r reader) Rows(ctx context.Context, who auth.Actor, d httpapi.Doc) (httpapi.Answer, error) {
	nodes, err := doc.Parse(d.Body, d.YAML)
	if err != nil {
		return httpapi.Answer{}, err
	}
	requests, err := query.FromDocs(nodes)
	if err != nil {
		return httpapi.Answer{}, err
	}
	if slices.ContainsFunc(requests, find.HasBeside) {
		body, beside, err := r.results(ctx, r.find.Into(nil), who, requests)
		return httpapi.Answer{Body: body, Result: find.Beside(beside)}, err
	}
	checked := len(requests) == 1 // which finds its errors before it hands anything on
	check := func() error {
		for i := 0; i < len(requests) && !checked; i++ {
			if err := r.find.Check(requests[i]); err != nil {
				return err
			}
		}
		checked = true
		return nil
	}
	if slices.ContainsFunc(requests, unbounded) {
		if err := check(); err != nil {
			return httpapi.Answer{}, err
		}
	}
	return httpapi.Answer{Stream: func(ctx context.Context, flush httpapi.Flush) ([]byte, error) {
		body, _, err := r.results(ctx, r.find.Into(func(w []byte) ([]byte, error) {
			if err := check(); err != nil { // while an error still has its status
				return nil, err
			}
			return flush(w)
		}), who, requests)
		return body, err
	}}, nil
}

func unbounded(q query.Request) bool { return !find.Bounded(q) }

// results appends all result sets, read in one snapshot. One query needs none
// when it is one statement.
func (r reader) results(ctx context.Context, f *find.Finder, who auth.Actor, requests []query.Request) (body []byte, beside [][]byte, err error) {
	body = []byte{'['}
	beside = make([][]byte, len(requests))
	if len(requests) == 1 {
		body, beside[0], err = f.Answer(ctx, nil, who, requests[0], body)
		return append(body, ']'), beside, err
	}
	err = r.db.Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) (err error) {
		body = append(body[:0], '[')
		for i, q := range requests {
			if i > 0 {
				body = append(body, ',')
			}
			if body, beside[i], err = f.Answer(ctx, tx, who, q, body); err != nil {
				return err
			}
		}
		return nil
	})
	return append(body, ']'), beside, err
}

// Assets answers a read by path.
func (r reader) Assets(_ context.Context, who auth.Actor, p httpapi.PathRead) (httpapi.Answer, error) {
	params := make(url.Values, len(p.Params))
	for name, value := range p.Params {
		params[name] = []string{value}
	}
	q, err := query.FromParams(query.Address{Type: p.Type, ID: p.ID, Moment: p.Moment, Attr: p.Attr}, params)
	if err != nil {
		return httpapi.Answer{}, err
	}
	q.History = p.Hist
	shape := find.Rest{Base: p.Base}
	return httpapi.Answer{Stream: func(ctx context.Context, flush httpapi.Flush) ([]byte, error) {
		return r.find.Into(find.Flush(flush)).Assets(ctx, nil, who, q, shape, nil)
	}}, nil
}

// committed is told of every committed write that made versions.
type committed struct {
	auth *auth.Service
	jobs *jobs.Client
}

// Committed lets new rights count and wakes the workers.
func (c committed) Committed(auditID int64) {
	c.auth.Written()
	c.jobs.Committed(auditID)
}

// commands answers httpapi.Bulk.
type commands struct {
	*bulk.Engine
	*bulk.Async
}

// Run answers POST api/asset.
func (c commands) Run(ctx context.Context, who auth.Actor, r httpapi.BulkRequest) ([]byte, error) {
	return c.Engine.Run(ctx, who, bulkRequest(r))
}

// Accept answers POST api/asset that is to be carried out later.
func (c commands) Accept(ctx context.Context, who auth.Actor, r httpapi.BulkRequest) (httpapi.Accepted, error) {
	a, err := c.Async.Accept(ctx, who, bulkRequest(r))
	return httpapi.Accepted(a), err
}

func bulkRequest(r httpapi.BulkRequest) bulk.Request {
	return bulk.Request{Body: r.Body, YAML: r.YAML, Preview: r.Preview, Atomic: r.Atomic, Comment: r.Comment, Key: r.Key, IfMoment: r.IfMoment}
}

// chores is what a worker does: changes become deliveries, and requests that
// were accepted are carried out.
type chores struct {
	*webhook.Worker
	*bulk.Async
}

// webhooks answers httpapi.Webhooks.
type webhooks struct{ *webhook.Service }

// Create answers POST api/webhook.
func (w webhooks) Create(ctx context.Context, who auth.Actor, body []byte) ([]byte, error) {
	return encoded(w.Service.Create(ctx, who, body))
}

// Update answers POST api/webhook/<id>.
func (w webhooks) Update(ctx context.Context, who auth.Actor, id string, body []byte) ([]byte, error) {
	return encoded(w.Service.Update(ctx, who, id, body))
}

// Delete answers POST api/webhook/delete/<id>.
func (w webhooks) Delete(ctx context.Context, who auth.Actor, id string) ([]byte, error) {
	return encoded(w.Service.Delete(ctx, who, id))
}

// List answers GET api/webhook.
func (w webhooks) List(ctx context.Context, who auth.Actor, page string) ([]byte, error) {
	return encoded(w.Service.List(ctx, who, page))
}

// Status answers GET api/webhook/status/<id>.
func (w webhooks) Status(ctx context.Context, who auth.Actor, id string) ([]byte, error) {
	return encoded(w.Service.Status(ctx, who, id))
}

// Test answers POST api/webhook/test/<id>.
func (w webhooks) Test(ctx context.Context, who auth.Actor, id string) ([]byte, error) {
	return encoded(w.Service.Test(ctx, who, id))
}

// Redeliver answers POST api/webhook/redeliver/<id>.
func (w webhooks) Redeliver(ctx context.Context, who auth.Actor, id string, body []byte) ([]byte, error) {
	return encoded(w.Service.Redeliver(ctx, who, id, body))
}

// Deliveries answers GET api/webhook/deliveries/<id>.
func (w webhooks) Deliveries(ctx context.Context, who auth.Actor, id, state, page string) ([]byte, error) {
	return encoded(w.Service.Deliveries(ctx, who, id, state, page))
}

// encoded is v as JSON, with &, < and > as they are.
func encoded[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
