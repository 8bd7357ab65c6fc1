package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/requests"
	"github.com/alds-dev/alds/internal/write/undo"
)

// keep is how long a plan can be carried out.
const keep = time.Hour

// maxShown limits the size of an effect in bytes.
const maxShown = 64 << 20

// Engine makes plans and carries them out. It is safe for concurrent use.
type Engine struct {
	MaxShown int // limit for the size of an effect in bytes
	// Expect returns a function that counts the webhook subscriptions to which a write will be sent. The
	// function is called in the transaction of the write, with the id of its audit row, its member, and its
	// first and last moment. If Expect is nil, plans do not count subscriptions.
	Expect func(ctx context.Context) (func(ctx context.Context, tx *db.Tx, write, member, first, last int64) (int, error), error)

	assets *asset.Engine
	bulk   *bulk.Engine
	undo   *undo.Engine
}

// New returns an engine for plans of bulk requests and undos.
func New(assets *asset.Engine, b *bulk.Engine, u *undo.Engine) *Engine {
	return &Engine{MaxShown: maxShown, assets: assets, bulk: b, undo: u}
}

// carried is what the execution of a request has given.
type carried struct {
	answer   []byte // the answer of the request
	shown    []byte // for a plan: members of its answer in JSON, such as "commands":[…]
	failures []byte
	failed   int
	refused  bool                      // the request changes nothing, because a command or a conflict has refused it
	note     func(ctx context.Context) // records denied commands after the commit; nil: there are none
}

// carrier executes a request in a session. id is the request id of the answer.
type carrier func(ctx context.Context, s *asset.Session, id string) (carried, error)

// carrier returns a function that executes a request, and whether the request is an import.
func (e *Engine) carrier(who auth.Actor, r bulk.Request) (carry carrier, imports bool, err error) {
	if r.Undo {
		return e.undoing(who, r), false, nil
	}
	p, err := e.bulk.Plan(who, r)
	if err != nil {
		return nil, false, err
	}
	return func(ctx context.Context, s *asset.Session, id string) (c carried, err error) {
		got, err := p.Carry(ctx, s, id)
		if c.refused = errors.Is(err, asset.ErrRollback); c.refused {
			err = nil
		}
		c.answer, c.failures, c.failed, c.note = got.Answer, got.Failures, got.Failed, got.Note
		c.shown = append([]byte(`"commands":`), got.Commands...)
		return c, err
	}, p.Imports(), nil
}

func (e *Engine) undoing(who auth.Actor, r bulk.Request) carrier {
	return func(ctx context.Context, s *asset.Session, id string) (c carried, err error) {
		c.answer, err = e.undo.Carry(ctx, s, who, undo.Request{Body: r.Body, YAML: r.YAML, Comment: r.Comment, IfMoment: r.IfMoment}, id)
		if c.refused = errors.Is(err, asset.ErrRollback); c.refused {
			err = nil
		}
		c.shown = append([]byte(`"undo":`), c.answer...)
		return c, err
	}
}

// Make executes a request, rolls it back, stores it as a plan, and returns the plan with its effect. The request
// is a bulk request, or an undo if r.Undo is set. A request that would change nothing has no plan: its id is
// null.
// Errors: those of the request; fault.Invalid for a request with passwords, or with an effect that is too large.
// Spec: interface 4.18.
func (e *Engine) Make(ctx context.Context, who auth.Actor, r bulk.Request) ([]byte, error) {
	r.Preview = false
	c, f, told, err := e.try(ctx, who, r, who.Admin)
	if err != nil {
		return nil, err
	}
	answer := append([]byte(`{"plan":null,"expires":null,`), c.shown...)
	if len(f.all) > 0 {
		id, expires, err := e.store(ctx, who, r, &f)
		if err != nil {
			return nil, err
		}
		answer = value.AppendString([]byte(`{"plan":`), id)
		answer = value.AppendInstant(append(answer, `,"expires":"`...), expires.UnixMicro())
		answer = append(append(answer, `",`...), c.shown...)
	}
	answer = append(f.append(answer), `,"refused":[`...)
	answer = append(append(answer, c.failures...), ']')
	if told >= 0 {
		answer = strconv.AppendInt(append(answer, `,"subscriptions":`...), int64(told), 10)
	}
	return append(answer, '}'), nil
}

// try executes a request and rolls it back. counts says whether it counts the webhook subscriptions; otherwise told
// is -1.
func (e *Engine) try(ctx context.Context, who auth.Actor, r bulk.Request, counts bool) (c carried, f effect, told int, err error) {
	carry, imports, err := e.carrier(who, r)
	if err != nil {
		return c, f, -1, err
	}
	told = -1
	expect := func(context.Context, *db.Tx, int64, int64, int64, int64) (int, error) { return -1, nil }
	if e.Expect != nil && counts {
		if expect, err = e.Expect(ctx); err != nil {
			return c, f, -1, err
		}
	}
	req := asset.Request{ID: asset.NewRequestID(), Comment: r.Comment, Import: imports, Trial: true}
	err = e.assets.Write(ctx, who, req, func(s *asset.Session) (err error) {
		if c, f, err = e.execute(ctx, s, carry, req.ID); err != nil {
			return err
		}
		if c.refused {
			return asset.ErrRollback
		}
		if err := s.Finish(ctx); err != nil { // refuses what a write would refuse at its end
			return err
		}
		write, first, last := s.Written()
		if told, err = expect(ctx, s.Tx(), write, who.Member, first, last); err != nil {
			return err
		}
		return asset.ErrRollback
	})
	if errors.Is(err, asset.ErrRollback) {
		err = nil
	}
	return c, f, told, err
}

// execute executes a request in a session, and returns its effect.
func (e *Engine) execute(ctx context.Context, s *asset.Session, carry carrier, id string) (c carried, f effect, err error) {
	s.RecordEffect()
	if c, err = carry(ctx, s, id); err != nil {
		return c, f, err
	}
	var all []asset.Effect
	if !c.refused {
		all, err = s.Effects(ctx)
	}
	if err != nil {
		return c, f, err
	}
	f, err = newEffect(ctx, all, e.MaxShown)
	f.size.Refused = c.failed
	return c, f, err
}

// store stores a plan.
func (e *Engine) store(ctx context.Context, who auth.Actor, r bulk.Request, f *effect) (id string, expires time.Time, err error) {
	r.Token, r.Key = who.Token, ""
	head, err := json.Marshal(r)
	if err != nil {
		return "", expires, fmt.Errorf("encode the options of a plan: %w", err)
	}
	return e.assets.Requests.Plan(ctx, who.Member, joined(head, r.Body), f.stored(), keep)
}

// joined returns a request as it is stored: its options in JSON, a line break, and its body.
func joined(head, body []byte) []byte { return slices.Concat(head, []byte{'\n'}, body) }

// split reads a request as it is stored. head is the JSON of its options.
func split(stored []byte) (r bulk.Request, head []byte, err error) {
	head, body, _ := bytes.Cut(stored, []byte{'\n'})
	if err := json.Unmarshal(head, &r); err != nil {
		return r, nil, fmt.Errorf("the options of a stored request: %w", err)
	}
	r.Body = body
	return r, head, nil
}

// Read returns a plan that the member and the token have made, with its effect as far as the actor sees the
// assets. The answer to a plan that is carried out has the answer of its request. The id can also be the plan of
// a proposal; then the answer is that of Show.
// Errors: fault.NotFound for a plan that the member and the token have not made, or that has expired, and for a
// proposal that the member does not see; those of memory.Hold.
// Spec: interface 4.18.
func (e *Engine) Read(ctx context.Context, who auth.Actor, id string) ([]byte, error) {
	switch kept, err := e.assets.Requests.FindProposalOf(ctx, id); {
	case err == nil:
		o, err := e.seen(ctx, who, kept)
		if err != nil {
			return nil, err
		}
		return e.Show(ctx, who, o.String())
	case fault.KindOf(err) != fault.NotFound:
		return nil, err
	}
	p, r, _, err := e.find(ctx, who, id)
	if err != nil {
		return nil, err
	}
	answer := value.AppendString([]byte(`{"plan":`), id)
	if p.Done {
		if len(r.Body) > 0 {
			return nil, isKept(r.Body)
		}
		return append(append(append(answer, `,"applied":true,"answer":`...), p.Answer...), '}'), nil
	}
	f, err := e.asSeen(ctx, e.assets.DB(), who, p.Effect)
	if err != nil {
		return nil, err
	}
	answer = value.AppendInstant(append(answer, `,"applied":false,"expires":"`...), p.Expires.UnixMicro())
	return append(f.append(append(answer, '"')), '}'), nil
}

// DifferError is the error of a plan whose effect would not be the same any more. Body is the answer to send.
type DifferError struct{ Body []byte }

// Error returns the first words of the answer.
func (*DifferError) Error() string { return differs }

// Apply carries a plan out: it executes the request and commits if the effect is that of the plan. A plan that
// is carried out has the same answer again. The id can also be the plan of a proposal.
// Errors: fault.NotFound for a plan that the member and the token have not made, or that has expired, and for a
// proposal that the member does not see; *DifferError if the effect would be another one, and nothing is changed;
// those of the request.
// Spec: interface 4.18, 4.19.
func (e *Engine) Apply(ctx context.Context, who auth.Actor, id string) ([]byte, error) {
	switch kept, err := e.assets.Requests.FindProposalOf(ctx, id); {
	case err == nil:
		return e.applyProposal(ctx, who, kept)
	case fault.KindOf(err) != fault.NotFound:
		return nil, err
	}
	p, r, head, err := e.find(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if p.Done {
		if len(r.Body) > 0 {
			return nil, isKept(r.Body)
		}
		return p.Answer, nil
	}
	carry, imports, err := e.carrier(who, r)
	if err != nil {
		return nil, err
	}
	var answer []byte
	var c carried
	req := asset.Request{ID: asset.NewRequestID(), Comment: r.Comment, Import: imports, Way: auth.ByPlan}
	err = e.assets.Write(ctx, who, req, func(s *asset.Session) error {
		var f effect
		var err error
		if c, f, err = e.execute(ctx, s, carry, req.ID); err != nil {
			return err
		}
		if body := differences(p.Effect, f.stored()); body != nil {
			return &DifferError{body}
		}
		answer = c.answer
		return p.End(s.Tx(), head, answer)
	})
	if err == nil {
		if c.note != nil {
			c.note(ctx)
		}
		return answer, nil
	}
	// Another request may have carried the plan out meanwhile. Then the effect is another one now.
	if now, _, _, findErr := e.find(ctx, who, id); findErr == nil && now.Done {
		return now.Answer, nil
	}
	return nil, err
}

// find returns a plan that the member and the token have made, and its request; see split.
// Errors: fault.NotFound.
func (e *Engine) find(ctx context.Context, who auth.Actor, id string) (p *requests.Plan, r bulk.Request, head []byte, err error) {
	if p, err = e.assets.Requests.FindPlan(ctx, who.Member, id); err != nil {
		return nil, r, nil, err
	}
	if r, head, err = split(p.Request); err == nil && r.Token != who.Token {
		err = fault.NotFoundf("There is no such plan")
	}
	return p, r, head, err
}
