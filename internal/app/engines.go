package app

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/jobs"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
)

// reader implements httpapi.Queries. It reads all rows of a request in one snapshot.
type reader struct {
	db   *db.DB
	find *find.Finder
}

// Rows reads the queries of query.v1. The answer is streamed unless a query asks for result
// info. Result info is sent in a header, so all rows must be read before the answer begins.
// Shape: [[row, …], …], one list per query; result info [{"next": …, "total": …,
// "explain": …}, …].
func (r reader) Rows(ctx context.Context, who auth.Actor, requests []query.Request) (httpapi.Answer, error) {
	if slices.ContainsFunc(requests, find.HasResultInfo) {
		body, infos, err := r.results(ctx, r.find.Into(nil), who, requests)
		return httpapi.Answer{Body: body, Result: find.JoinResultInfo(infos)}, err
	}
	checked := len(requests) == 1 // a single query needs no check: it fails before its first part is sent
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
	return httpapi.Answer{Stream: func(ctx context.Context, flush find.Flush) ([]byte, error) {
		body, _, err := r.results(ctx, r.find.Into(func(w []byte) ([]byte, error) {
			if err := check(); err != nil { // before the first part is sent, so that the error still sets the status
				return nil, err
			}
			return flush(w)
		}), who, requests)
		return body, err
	}}, nil
}

func unbounded(q query.Request) bool { return !find.Bounded(q) }

// results reads all result sets in one snapshot. A single query needs no transaction for that.
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

// Assets reads assets and encodes them in a form of the data interface.
func (r reader) Assets(ctx context.Context, who auth.Actor, q query.Request, form encode.Form, flush find.Flush) ([]byte, error) {
	return r.find.Into(flush).Assets(ctx, nil, who, q, form, nil)
}

// committed has the method that the write engine calls after every commit with new versions.
type committed struct {
	jobs *jobs.Client
	feed *feed.Log
}

// Committed wakes the requests that wait for changes. If waits is true, the change still needs its
// fan-out, and Committed also wakes the workers.
func (c committed) Committed(auditID int64, write string, waits bool) {
	if waits {
		c.jobs.Committed(auditID, write)
	}
	c.feed.Committed()
}
