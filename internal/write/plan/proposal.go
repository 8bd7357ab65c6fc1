package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/requests"
)

// proposalType is the type of the assets of proposals.
const proposalType = "Proposal"

// proposed is the body of a request that keeps a plan as a proposal.
type proposed struct{ plan, name, scope, description string }

// parseProposed reads the body. Errors: fault.Invalid.
func parseProposed(body []byte, yaml bool) (p proposed, err error) {
	docs, err := document.Parse(body, yaml || document.Sniff(body))
	if err != nil {
		return p, err
	}
	if len(docs) != 1 || docs[0].Kind != document.Map {
		return p, fault.Invalidf(0, "The body must be an object")
	}
	into := map[string]*string{"plan": &p.plan, "name": &p.name, "scope": &p.scope, "description": &p.description}
	for i, key := range docs[0].Keys {
		n := &docs[0].Items[i]
		text := into[key]
		if text == nil {
			return p, fault.Invalidf(n.At, "Invalid key at node(s): root->%s", key)
		}
		if n.Kind != document.String || n.Text == "" {
			return p, fault.Invalidf(n.At, "%s must be a text that is not empty", key)
		}
		*text = n.Text
		delete(into, key)
	}
	return p, nil
}

// Propose keeps a plan as a new proposal. body is JSON or YAML:
//
//	{"plan": "<id>", "name": "…", "scope": "Scope:1005", "description": "…"}
//
// It returns the proposal and the id of its plan, as JSON. A plan that is kept has the same answer again.
// Errors: fault.Invalid for another body, for a plan that was carried out, and for too many proposals of the member;
// fault.NotFound for a plan that the member and the token have not made; *DifferError if the effect is another
// one now; those of the request, and of the creation of the proposal.
// Spec: interface 4.19.
func (e *Engine) Propose(ctx context.Context, who auth.Actor, body []byte, yaml bool) ([]byte, error) {
	in, err := parseProposed(body, yaml)
	switch {
	case err != nil:
		return nil, err
	case in.plan == "" || in.name == "" || in.scope == "":
		return nil, fault.Invalidf(fault.NoPlace, "A proposal needs plan, name and scope")
	}
	t, ok := e.assets.Model().Type(proposalType)
	if !ok {
		return nil, asset.UnknownType(proposalType)
	}
	command := &asset.Command{Verb: asset.Create, Type: t, Self: &asset.Handle{Alias: "@proposal"}, Changes: []asset.Change{
		text("Name", in.name), text("Scope", in.scope),
	}}
	if in.description != "" {
		command.Changes = append(command.Changes, text("Description", in.description))
	}
	return e.keepPlan(ctx, who, in.plan, command, nil)
}

// Renew gives a proposal another plan. The body is {"plan": "<id>"}, or empty: then the commands of the proposal
// are tried again. The answer is that of Propose.
// Errors: those of Propose; fault.NotFound for a proposal that the member does not see; fault.Conflict for one that
// somebody has decided.
// Spec: interface 4.19.
func (e *Engine) Renew(ctx context.Context, who auth.Actor, token string, body []byte, yaml bool) ([]byte, error) {
	var in proposed
	if len(body) > 0 {
		var err error
		if in, err = parseProposed(body, yaml); err != nil {
			return nil, err
		}
		if in.plan == "" || in != (proposed{plan: in.plan}) {
			return nil, fault.Invalidf(fault.NoPlace, "The body must be {\"plan\": …}, or empty")
		}
	}
	o, kept, err := e.seenProposal(ctx, who, token)
	if err != nil {
		return nil, err
	}
	command := &asset.Command{Verb: asset.Update, Target: asset.Ref{OID: o}, ByPath: true}
	if in.plan != "" {
		return e.keepPlan(ctx, who, in.plan, command, kept)
	}
	if kept == nil {
		return nil, noPlan(o)
	}
	r, head, err := split(kept.Request)
	if err != nil {
		return nil, err
	}
	f, told, err := e.retry(ctx, who, r)
	if err != nil {
		return nil, err
	}
	return e.write(ctx, who, command, &requests.Proposal{Member: kept.Member, Request: joined(head, r.Body), Effect: f.stored(), Subscriptions: told}, nil)
}

func noPlan(o oid.OID) error { return fault.NotFoundf("%s has no plan", o) }

func text(name, v string) asset.Change {
	return asset.Change{Name: name, Set: []asset.Value{{Kind: asset.Text, Text: v}}}
}

// retry executes a request once more and rolls it back. Errors: those of the request; fault.Invalid if it changes
// nothing, or if one of its commands is refused.
func (e *Engine) retry(ctx context.Context, who auth.Actor, r bulk.Request) (f effect, told int, err error) {
	_, f, told, err = e.try(ctx, who, r, true)
	switch {
	case err != nil:
	case len(f.all) == 0:
		err = fault.Invalidf(fault.NoPlace, "The commands would change nothing")
	case f.size.Refused > 0: // others would read them in the answer of the request that applies it
		err = fault.Invalidf(fault.NoPlace, "%d of the commands would be refused, so they cannot be proposed", f.size.Refused)
	}
	return f, told, err
}

// keepPlan keeps a plan as a proposal. command creates or changes the asset of the proposal; kept is what the
// proposal had before.
func (e *Engine) keepPlan(ctx context.Context, who auth.Actor, id string, command *asset.Command, kept *requests.Proposal) ([]byte, error) {
	p, r, head, err := e.find(ctx, who, id)
	switch {
	case err != nil:
		return nil, err
	case p.Done && len(r.Body) == 0:
		return nil, fault.Invalidf(fault.NoPlace, "The plan was carried out")
	case p.Done && command.Verb == asset.Update && command.Target.OID.String() != string(r.Body):
		return nil, isKept(r.Body)
	case p.Done:
		return p.Answer, nil
	}
	f, told, err := e.retry(ctx, who, r)
	if err != nil {
		return nil, err
	}
	if body := differences(p.Effect, f.stored()); body != nil {
		return nil, &DifferError{body}
	}
	k := &requests.Proposal{Member: who.Member, Request: p.Request, Effect: p.Effect, Subscriptions: told}
	if kept != nil {
		k.Member = kept.Member
	}
	answer, err := e.write(ctx, who, command, k, func(s *asset.Session, o oid.OID, answer []byte) error {
		return p.End(s.Tx(), joined(head, []byte(o.String())), answer)
	})
	if now, r, _, findErr := e.find(ctx, who, id); err != nil && findErr == nil && now.Done && len(r.Body) > 0 { // by another request
		return now.Answer, nil
	}
	return answer, err
}

// write creates or changes the asset of a proposal and stores its request and effect. end may be nil.
func (e *Engine) write(
	ctx context.Context, who auth.Actor, command *asset.Command, k *requests.Proposal, end func(*asset.Session, oid.OID, []byte) error,
) (answer []byte, err error) {
	k.Plan = uuid.NewString()
	plan := text("Plan", k.Plan)
	plan.Internal = true
	command.Changes = append(command.Changes, plan)
	req := asset.Request{ID: asset.NewRequestID(), Way: auth.ByProposal}
	err = e.assets.Write(ctx, who, req, func(s *asset.Session) error {
		outcomes, err := s.Run(ctx, []*asset.Command{command})
		if err == nil {
			err = outcomes[0].Err
		}
		if err != nil {
			return err
		}
		o := outcomes[0].OID
		if k.Asset, err = e.openProposal(ctx, s, o); err != nil {
			return err
		}
		answer = value.AppendString([]byte(`{"proposal":`), o.String())
		answer = append(value.AppendString(append(answer, `,"plan":`...), k.Plan), '}')
		if err := e.assets.Requests.Propose(ctx, s.Tx(), *k); err != nil || end == nil {
			return err
		}
		return end(s, o, answer)
	})
	return answer, err
}

// openProposal returns the stored id of a proposal that the session has locked. Errors: fault.Conflict if
// somebody has decided it.
func (e *Engine) openProposal(ctx context.Context, s *asset.Session, o oid.OID) (id int64, err error) {
	t, ok := e.assets.Model().Type(proposalType)
	if !ok {
		return 0, asset.UnknownType(proposalType)
	}
	id = t.Stored(o.ID)
	var state int
	if err := s.Tx().QueryRow(ctx, `SELECT state FROM asset WHERE id = ?`, id).Scan(&state); err != nil {
		return 0, fmt.Errorf("read the state of a proposal: %w", err)
	}
	if state != meta.StateActive {
		err = fault.Conflictf(nil, "%s is not open", o)
	}
	return id, err
}

// seenProposal returns a proposal by its Oid, and what is stored about it; nil: it has no plan.
// Errors: fault.NotFound for a proposal that does not exist, is deleted, or that the actor does not see.
func (e *Engine) seenProposal(ctx context.Context, who auth.Actor, token string) (oid.OID, *requests.Proposal, error) {
	o, err := oid.Parse(token)
	if err != nil || o.Type != proposalType || o.Moment != 0 {
		return o, nil, fault.NotFoundf("There is no such proposal")
	}
	if err := e.checkSeen(ctx, who, o); err != nil {
		return o, nil, err
	}
	t, ok := e.assets.Model().Type(proposalType)
	if !ok {
		return o, nil, asset.UnknownType(proposalType)
	}
	kept, err := e.assets.Requests.FindProposal(ctx, t.Stored(o.ID))
	if fault.KindOf(err) == fault.NotFound {
		return o, nil, nil
	}
	return o, kept, err
}

// seen returns the Oid of a proposal that was found by its plan. Errors: fault.NotFound for a proposal that is
// deleted, or that the actor does not see.
func (e *Engine) seen(ctx context.Context, who auth.Actor, kept *requests.Proposal) (oid.OID, error) {
	t, ok := e.assets.Model().Type(proposalType)
	if !ok {
		return oid.OID{}, asset.UnknownType(proposalType)
	}
	o := oid.OID{Type: proposalType, ID: t.Shown(kept.Asset)}
	err := e.checkSeen(ctx, who, o)
	if fault.KindOf(err) == fault.NotFound {
		err = fault.NotFoundf("There is no such plan") // as for a plan that does not exist
	}
	return o, err
}

// checkSeen returns an error for a proposal that does not exist, is deleted, or that the actor does not see.
// Errors: fault.NotFound.
func (e *Engine) checkSeen(ctx context.Context, who auth.Actor, o oid.OID) error {
	found, err := e.assets.Lookup(ctx, e.assets.DB(), who, []oid.OID{o})
	if err != nil {
		return err
	}
	if k, ok := found[o]; !ok || k.Deleted {
		return fault.NotFoundf("There is no such proposal")
	}
	return nil
}

// Show returns the effect of a proposal as far as the actor may see it, as JSON.
// Errors: fault.NotFound for a proposal that the actor does not see, or that has no plan; those of memory.Hold.
// Spec: interface 4.19.
func (e *Engine) Show(ctx context.Context, who auth.Actor, token string) ([]byte, error) {
	o, kept, err := e.seenProposal(ctx, who, token)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return nil, noPlan(o)
	}
	f, err := e.asSeen(ctx, e.assets.DB(), who, kept.Effect)
	if err != nil {
		return nil, err
	}
	answer := value.AppendString([]byte(`{"proposal":`), o.String())
	if answer = append(answer, `,"plan":`...); kept.IsUsed() {
		answer = append(answer, "null"...)
	} else {
		answer = value.AppendString(answer, kept.Plan)
	}
	if answer = f.append(answer); who.Admin && kept.Subscriptions >= 0 {
		answer = strconv.AppendInt(append(answer, `,"subscriptions":`...), int64(kept.Subscriptions), 10)
	}
	return append(answer, '}'), nil
}

// applyProposal carries the commands of a proposal out with the rights of the actor, if their effect is that of
// the proposal, and marks the proposal as applied.
// Errors: fault.NotFound for a proposal that the actor does not see; fault.Denied if the actor does not see all that it
// changes; fault.Conflict if it got another plan meanwhile; *DifferError; those of the request.
func (e *Engine) applyProposal(ctx context.Context, who auth.Actor, kept *requests.Proposal) ([]byte, error) {
	o, err := e.seen(ctx, who, kept)
	if err != nil {
		return nil, err
	}
	r, head, err := split(kept.Request)
	if err != nil {
		return nil, err
	}
	carry, imports, err := e.carrier(who, r)
	if err != nil {
		return nil, err
	}
	planned, err := e.asSeen(ctx, e.assets.DB(), who, kept.Effect)
	if err != nil {
		return nil, err
	}
	if planned.size.Hidden > 0 {
		return nil, fault.Deniedf("The proposal changes %d things that you do not see", planned.size.Hidden)
	}
	r.Token = who.Token
	if head, err = json.Marshal(r); err != nil {
		return nil, fmt.Errorf("encode the options of a proposal: %w", err)
	}
	var answer []byte
	var c carried
	req := asset.Request{
		ID: asset.NewRequestID(), Comment: r.Comment, Import: imports, Way: auth.ByPlan, Proposal: o,
	}
	err = e.assets.Write(ctx, who, req, func(s *asset.Session) error {
		var f effect
		var err error
		if c, f, err = e.execute(ctx, s, carry, req.ID); err != nil {
			return err
		}
		if differences(kept.Effect, f.stored()) != nil {
			now, err := e.asSeen(ctx, s.Tx(), who, f.stored())
			if err != nil {
				return err
			}
			return &DifferError{differences(planned.stored(), now.stored())}
		}
		outcomes, err := s.Run(ctx, []*asset.Command{{Verb: asset.Operate, Op: "Apply", Target: asset.Ref{OID: o}, ByPath: true}})
		if err == nil {
			err = outcomes[0].Err
		}
		if err != nil {
			return err
		}
		if err := e.notRenewed(ctx, s, kept); err != nil {
			return err
		}
		answer = c.answer
		event := trail.Event{Kind: trail.Applied, Actor: who.Member, Member: kept.Member, Asset: o, Detail: trail.Detail{Request: req.ID}}
		if err := trail.Record(ctx, s.Tx(), event); err != nil {
			return err
		}
		return e.assets.Requests.Applied(s.Tx(), kept, who.Member, head, answer)
	})
	if err == nil {
		if c.note != nil {
			c.note(ctx)
		}
		return answer, nil
	}
	// Another request may have applied it meanwhile.
	if now, _, _, findErr := e.find(ctx, who, kept.Plan); findErr == nil && now.Done {
		return now.Answer, nil
	}
	return nil, err
}

// notRenewed returns an error if a proposal, which the session has locked, has another plan now.
// Errors: fault.Conflict.
func (e *Engine) notRenewed(ctx context.Context, s *asset.Session, kept *requests.Proposal) error {
	var plan string
	if err := s.Tx().QueryRow(ctx, `SELECT plan_id FROM proposal WHERE asset_id = ?`, kept.Asset).Scan(&plan); err != nil {
		return fmt.Errorf("read the plan of a proposal: %w", err)
	}
	if plan != kept.Plan {
		return fault.Conflictf(nil, "The proposal has another plan now")
	}
	return nil
}

// isKept returns the error for a plan that is kept as a proposal.
func isKept(proposal []byte) error {
	return fault.Invalidf(fault.NoPlace, "The plan is kept as %s, which has a plan of its own", proposal)
}
