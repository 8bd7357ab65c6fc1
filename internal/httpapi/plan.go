package httpapi

import (
	"bytes"
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
	Read(ctx context.Context, who auth.Actor, id string) ([]byte, error)
	Propose(ctx context.Context, who auth.Actor, body []byte, yaml bool) ([]byte, error)
	Renew(ctx context.Context, who auth.Actor, proposal string, body []byte, yaml bool) ([]byte, error)
	Show(ctx context.Context, who auth.Actor, proposal string) ([]byte, error)
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
	if err := r.hasNoOptions("A request with the id of a plan"); err != nil {
		return nil, err
	}
	answer, err := r.differs(r.engines.Plans.Apply(ctx, who, id))
	return r.ended(answer), err
}

// readPlan serves GET api/plans/<id>. Spec: interface 4.18.
func (*API) readPlan(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return r.engines.Plans.Read(ctx, who, r.param("id"))
}

// hasNoOptions refuses the options of api/asset. Errors: fault.Invalid.
func (r *request) hasNoOptions(what string) error {
	_, preview := r.params["previewonly"]
	_, atomic := r.params["atomic"]
	_, comment := r.params["comment"]
	if preview || atomic || comment || r.ifMatch != "" || r.key != "" || r.async {
		return fault.Invalidf(fault.NoPlace, "%s has no other options", what)
	}
	return nil
}

// differs answers 409 for a plan whose effect would be another one.
func (r *request) differs(answer []byte, err error) ([]byte, error) {
	if other, ok := errors.AsType[*plan.DifferError](err); ok {
		r.status = http.StatusConflict
		return other.Body, nil
	}
	return answer, err
}

// propose serves POST api/proposals. Spec: interface 4.19.
func (*API) propose(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	if err := r.hasNoOptions("A proposal"); err != nil {
		return nil, err
	}
	b, err := r.body()
	if err != nil {
		return nil, err
	}
	return r.differs(r.engines.Plans.Propose(ctx, who, b, r.isYAML(b)))
}

// renewProposal serves POST api/proposals/<oid>. Spec: interface 4.19.
func (*API) renewProposal(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	if err := r.hasNoOptions("A proposal"); err != nil {
		return nil, err
	}
	b, err := r.decoded()
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSpace(b)
	return r.differs(r.engines.Plans.Renew(ctx, who, r.param("oid"), b, len(b) > 0 && r.isYAML(b)))
}

// showProposal serves GET api/proposals/<oid>. Spec: interface 4.19.
func (*API) showProposal(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return r.engines.Plans.Show(ctx, who, r.param("oid"))
}
