package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
)

// Queries answers reads.
type Queries interface {
	// Rows answers query.v1: an array of result sets.
	Rows(ctx context.Context, who auth.Actor, d Doc) (Answer, error)
	// Assets answers a read by path.
	Assets(ctx context.Context, who auth.Actor, r PathRead) (Answer, error)
}

// Answer is the answer to a read.
type Answer struct {
	Body   []byte
	Result []byte // JSON for the header Alds-Result; empty: no header
	Stream Stream // makes the body, of any size, when set
}

// Stream makes the body of an answer. It passes each part to flush, continues in
// the buffer that flush returns, and returns the last part. It runs after the
// handler has returned, when the body of the request is no longer valid.
type Stream func(ctx context.Context, flush Flush) ([]byte, error)

// Flush sends a part of an answer. After an error the rest is not wanted.
type Flush func(w []byte) ([]byte, error)

// Doc is a body in JSON or YAML. It is valid during the call.
type Doc struct {
	Body []byte
	YAML bool
}

// headerResult is the header with totals, cursors and plans by result set.
const headerResult = "Alds-Result"

// runQuery serves query.v1, whose body some clients send with GET or SEARCH.
// Spec: interface 4.3, query keys.
func (a *API) runQuery(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	d, err := r.doc()
	if err != nil {
		return nil, err
	}
	answer, err := a.queries.Rows(ctx, who, d)
	if len(answer.Result) > 0 && err == nil {
		r.headers = append(r.headers, [2]string{headerResult, string(answer.Result)})
	}
	r.stream = answer.Stream
	return answer.Body, err
}
