package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/find"
)

// Queries reads assets.
type Queries interface {
	// Rows reads one result set for each request, in one snapshot.
	Rows(ctx context.Context, who auth.Actor, requests []query.Request) (Answer, error)
	// Assets reads assets and encodes them in a form of the data interface.
	Assets(ctx context.Context, who auth.Actor, r query.Request, form encode.Form, flush find.Flush) ([]byte, error)
}

// Answer is the answer to a query.
type Answer struct {
	Body   []byte
	Result []byte // JSON for the header Alds-Result; empty: no header
	Stream Stream // if set, it makes the body, of any size
}

// Stream makes the body of an answer. It calls flush with each part, continues in the buffer
// that flush returns, and returns the last part. It runs after the handler has returned, so it
// must not use the body of the request.
type Stream func(ctx context.Context, flush find.Flush) ([]byte, error)

// headerResult is the header with the total, the cursor and the plan of each result set.
const headerResult = "Alds-Result"

// runQuery serves query.v1. Some clients send the body with GET or SEARCH.
// Spec: interface 4.3, query keys.
func (*API) runQuery(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	nodes, err := document.Parse(body, r.isYAML(body))
	if err != nil {
		return nil, err
	}
	requests, err := query.FromDocs(nodes)
	if err != nil {
		return nil, err
	}
	words, err := r.words(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := r.engines.Queries.Rows(words(ctx), who, requests)
	if len(answer.Result) > 0 && err == nil {
		r.headers = append(r.headers, [2]string{headerResult, string(answer.Result)})
	}
	if r.stream = answer.Stream; r.stream != nil {
		r.stream = answer.Stream.in(words)
	}
	return answer.Body, err
}
