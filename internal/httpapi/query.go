package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
)

// headerResult holds totals, cursors and plans, one entry per result set.
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
