package assets

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// proposalType is the type of proposals.
const proposalType = "Proposal"

// proposal has what the page of a proposal shows besides the asset: what it changes.
type proposal struct {
	undoPage
	Plan    string // id of the plan that is shown; empty: it was used
	Summary string
	Told    *int // webhook subscriptions that would get a change; nil: the reader may not know
	Open    bool // nobody has decided it
	Applies bool // the reader may apply it
}

// proposalEffect is the answer of GET api/proposals/<Oid>. Spec: interface 4.19.
type proposalEffect struct {
	Plan, Summary string
	Effect        []effectChange
	NotUndone     []undoKept
	Size          struct{ Hidden int }
	Subscriptions *int
}

// readProposal reads what a proposal changes. It returns nil for other assets and for a proposal without a plan.
func readProposal(v *ui.Visit, a *asset) (*proposal, error) {
	if a.kind.Token != proposalType || a.Deleted {
		return nil, nil //nolint:nilnil // nil: the page shows no proposal
	}
	var e proposalEffect
	err := v.API.Get("api/proposals/"+a.Oid, &e)
	switch refused, other := ui.AsError(err); {
	case other != nil:
		return nil, other
	case refused != nil && refused.Status == http.StatusNotFound:
		return nil, nil //nolint:nilnil // the proposal has no plan
	case refused != nil:
		return nil, refused
	}
	p := &proposal{Plan: e.Plan, Summary: e.Summary, Told: e.Subscriptions, Open: a.row.text("Decision") == ""}
	p.Applies = p.Open && a.row.is("CheckApply")
	err = p.fill(v, &undoPreview{Changes: e.Effect, NotUndone: e.NotUndone})
	p.Hidden = e.Size.Hidden
	return p, err
}

// Made returns what a new asset of a plan is, such as "new Story"; empty: the asset exists already.
func (a undoneAsset) Made() string {
	kind, _, isNew := strings.Cut(a.Oid, ":+")
	if !isNew {
		return ""
	}
	return "new " + kind
}

// applyProposal serves POST ui/asset/<Oid>/apply: it applies a proposal by the plan that the reader has seen.
func applyProposal(v *ui.Visit) error {
	return decide(v, "applied", func(oid.OID) error {
		plan := v.Field("plan")
		if _, err := uuid.Parse(plan); err != nil {
			return &ui.Error{Status: http.StatusBadRequest, Message: "The form names no plan."}
		}
		return v.API.Do(http.MethodPost, "api/asset?plan="+plan, nil, &struct{}{})
	})
}

// renewProposal serves POST ui/asset/<Oid>/renew: it tries the commands of a proposal again.
func renewProposal(v *ui.Visit) error {
	return decide(v, "renewed", func(o oid.OID) error {
		return v.API.Do(http.MethodPost, "api/proposals/"+o.String(), nil, &struct{}{})
	})
}

// decide does something with a proposal and shows it. done names the message for success.
func decide(v *ui.Visit, done string, act func(oid.OID) error) error {
	o, err := readOid(v.Request.PathValue("oid"))
	if err != nil {
		return err
	}
	o = o.Now()
	if err = v.Once(); err == nil {
		err = act(o)
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		message := v.Readable(refused.Message)
		if refused.Status == http.StatusConflict && done == "applied" {
			message += ". Try it again to see what it would change now."
		}
		return showRead(v, o, message)
	}
	return v.Redirect(assetLink(o.String(), "done", done))
}
