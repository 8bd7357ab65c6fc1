package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
)

// applyProposal marks a proposal as applied. Only the request that carries its commands out may do that.
// Errors: fault.Invalid for any other request.
func (o *operations) applyProposal(_ context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	if o.s.req.Proposal != w.oid() {
		return nil, fault.Invalidf(fault.NoPlace, "A proposal is applied by POST api/asset?plan=, with the Plan of the proposal")
	}
	return nil, nil //nolint:nilnil // the answer is the proposal
}

// declineProposal does nothing more than the model says. An operation without code that closes an asset repeats
// without an error (meta.Op.Repeats), and then a proposal that was applied would seem to be declined.
func (o *operations) declineProposal(context.Context, *row, *meta.Op, []Change) (*row, error) {
	return nil, nil //nolint:nilnil // the answer is the proposal
}
