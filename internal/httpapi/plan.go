package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/plan"
)

// Plans makes plans of requests and carries them out. The answers are the JSON to send.
type Plans interface {
	Make(ctx context.Context, who auth.Actor, r bulk.Request) ([]byte, error)
	Apply(ctx context.Context, who auth.Actor, id string) ([]byte, error)
}

// makesPlan reports whether a request asks for a plan. Errors: fault.Invalid.
func (r *request) makesPlan(preview bool) (bool, error) {
	planned, err := r.params.flag("plan")
	if err == nil && planned && !preview {
		err = fault.Invalidf(fault.NoPlace, "plan=true needs previewOnly=true")
	}
	return planned, err
}

// applyPlan carries a plan out, for POST api/asset?plan=<id>. Spec: interface 4.18.
func (r *request) applyPlan(ctx context.Context, who auth.Actor, id string) ([]byte, error) {
	if len(r.raw) > 0 {
		return nil, fault.Invalidf(fault.NoPlace, "A request with the id of a plan has no body")
	}
	_, preview := r.params["previewonly"]
	_, atomic := r.params["atomic"]
	_, comment := r.params["comment"]
	if preview || atomic || comment || r.ifMatch != "" || r.key != "" || r.async {
		return nil, fault.Invalidf(fault.NoPlace, "A request with the id of a plan has no other options")
	}
	answer, err := r.engines.Plans.Apply(ctx, who, id)
	if other, ok := errors.AsType[*plan.DifferError](err); ok {
		r.status = http.StatusConflict
		return other.Body, nil
	}
	return r.ended(answer), err
}
