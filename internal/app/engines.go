package app

import (
	"context"
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
)

// reader implements httpapi.Queries: it reads all rows of a request in one
// snapshot.
type reader struct {
	db   *db.DB
	find *find.Finder
}

// Rows answers query.v1. Shape: [[row, …], …], one list per query; result info is
// [{"next": …, "total": …, "explain": …}, …] when a query asks for any of that.
// The answer is streamed, unless there is result info, which goes
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
	if slices.ContainsFunc(requests, find.HasResultInfo) {
		body, infos, err := r.results(ctx, r.find.Into(nil), who, requests)
		return httpapi.Answer{Body: body, Result: find.JoinResultInfo(infos)}, err
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
func (r reader) results(ctx context.Context, f *find.Finder, who auth.Actor, requests []query.Request) (body []byte, infos [][]byte, err error) {
	body = []byte{'['}
	infos = make([][]byte, len(requests))
	if len(requests) == 1 {
		body, infos[0], err = f.Answer(ctx, nil, who, requests[0], body)
		return append(body, ']'), infos, err
	}
	err = r.db.Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) (err error) {
		body = append(body[:0], '[')
		for i, q := range requests {
			if i > 0 {
				body = append(body, ',')
			}
			if body, infos[i], err = f.Answer(ctx, tx, who, q, body); err != nil {
				return err
			}
		}
		return nil
	})
	return append(body, ']'), infos, err
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
	return httpapi.Answer{Stream: func(ctx context.Context, flush httpapi.Flush) ([]byte, error) {
		return r.find.Into(find.Flush(flush)).Assets(ctx, nil, who, q, p.Base, nil)
	}}, nil
}

// committed is called after every commit that wrote versions.
type committed struct {
	auth *auth.Service
	jobs *jobs.Client
}

// Committed invalidates cached permissions and wakes the workers.
func (c committed) Committed(auditID int64) {
	c.auth.Written()
	c.jobs.Committed(auditID)
}

// commands executes bulk requests, now or later.
type commands struct {
	*bulk.Engine
	*bulk.Async
}
