package bulk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/store/lease"
	"github.com/alds-dev/alds/internal/write/requests"
	"github.com/alds-dev/alds/internal/write/undo"
)

// Actors returns the rights of members. A member is identified by its stored id.
type Actors interface {
	// ActorWithin returns a member with its current rights, as far as the bounds of an access token
	// leave them; nil: no bounds. Errors: fault.NotFound.
	ActorWithin(ctx context.Context, member int64, b *auth.Bounds) (auth.Actor, error)
	// MayLogin reports whether a member could log in now.
	MayLogin(ctx context.Context, member int64) (bool, error)
	// Watch returns a context that ends when the login ends or the actor loses rights.
	Watch(ctx context.Context, l auth.Login, who auth.Actor) (watched context.Context, stop func())
}

// Async accepts requests for asynchronous execution, executes them, and reports
// their progress. It is safe for concurrent use, in any number of processes.
type Async struct {
	// Again calls the function do with an engine of the current model. If the model changes while
	// the function runs, Again calls it again with an engine of the new model. If Again is nil, the
	// function is called once, with the engine of NewAsync.
	Again func(ctx context.Context, do func(*Engine) error) error
	// Memory is the memory budget of all requests of the process. Each request is counted for its
	// member. If Memory is nil, there is no limit.
	Memory  *memory.Budget
	Timeout time.Duration // limit of one execution; NewAsync sets 90 s

	turn       chan struct{} // contains one element per request that is being executed
	e          *Engine       // for everything that does not depend on the model
	store      *requests.Store
	actors     Actors
	onAccepted func(id string)
	log        *slog.Logger
}

const (
	asyncTimeout = 90 * time.Second
	maxExecuted  = 1 // maximum number of accepted requests that a process executes at the same time
)

// NewAsync returns an Async that executes requests with e. onAccepted is called with the id of
// each accepted request. If onAccepted is nil, requests wait for ExecuteWaiting.
func NewAsync(e *Engine, actors Actors, onAccepted func(id string), log *slog.Logger) *Async {
	if onAccepted == nil {
		onAccepted = func(string) {}
	}
	e.assets.Requests.Stopped = undo.Stopped
	return &Async{
		Timeout: asyncTimeout, turn: make(chan struct{}, maxExecuted), e: e,
		store: e.assets.Requests, actors: actors, onAccepted: onAccepted, log: log,
	}
}

func (a *Async) again(ctx context.Context, do func(*Engine) error) error {
	if a.Again == nil {
		return do(a.e)
	}
	return a.Again(ctx, do)
}

// Accepted is the answer to a request for asynchronous execution.
type Accepted struct {
	ID   string // id of the request
	Body []byte // the response object of the current state
	Done bool   // true if the request was sent before with the same Idempotency-Key, and Body is its answer
}

// Accept stores a payload for asynchronous execution. It parses the payload first, so that an
// invalid body is refused at once.
// Errors: fault.Invalid, fault.Denied and fault.Conflict for the same reasons as Run. If the
// Idempotency-Key belongs to a request that was refused, Accept returns the error of that
// request.
func (a *Async) Accept(ctx context.Context, who auth.Actor, r Request) (Accepted, error) {
	p, err := a.e.parse(who, r)
	if err != nil {
		return Accepted{}, err
	}
	for i := range p.commands {
		if n := p.commands[i].node; has(n, isOldPassword) {
			return Accepted{}, oldPasswordAsync(n.At)
		}
	}
	once, err := a.e.identity(ctx, who, p)
	if err != nil {
		return Accepted{}, err
	}
	return a.accept(ctx, who, r, once, len(p.commands))
}

// AcceptUndo stores an undo for asynchronous execution.
// Errors: fault.Invalid for a body that selects nothing; those of Accept for the Idempotency-Key.
// Spec: interface 4.17.3.
func (a *Async) AcceptUndo(ctx context.Context, who auth.Actor, u undo.Request) (Accepted, error) {
	if err := u.Check(); err != nil {
		return Accepted{}, err
	}
	once, err := a.e.assets.Identity(ctx, who, u.Key, u.Body, false)
	if err != nil {
		return Accepted{}, err
	}
	r := Request{Body: u.Body, YAML: u.YAML, Preview: u.Preview, Comment: u.Comment, Key: u.Key, IfMoment: u.IfMoment, Undo: true}
	if r.UpTo, err = undo.New(a.e.assets).Newest(ctx); err != nil {
		return Accepted{}, err
	}
	return a.accept(ctx, who, r, once, 0)
}

// accept stores a request for asynchronous execution. commands is the number of its commands; 0 if it is not
// known yet.
func (a *Async) accept(ctx context.Context, who auth.Actor, r Request, once requests.Identity, commands int) (Accepted, error) {
	if err := who.Bounds.Write(auth.Directly); err != nil && !r.Preview {
		return Accepted{}, err
	}
	r.Bounds = who.Bounds
	from := trail.OriginOf(ctx)
	r.Token, r.Application, r.Tool, r.Address = who.Token, who.Application, from.Tool, from.Address
	r.ID, r.Trace = tracing.RequestID(ctx), tracing.Of(ctx).Parent()
	head, err := json.Marshal(r)
	if err != nil {
		return Accepted{}, fmt.Errorf("encode the options of a request: %w", err)
	}
	if r.Preview { // the key is for the request that writes
		once = requests.Identity{Token: who.Token}
	}
	text := slices.Concat(head, []byte{'\n'}, r.Body)
	s, err := a.store.Accept(ctx, who.Member, once, text, commands)
	if err != nil {
		return Accepted{}, err
	}
	if !s.Done {
		tracing.Wrote(ctx, s.ID)
		a.onAccepted(s.ID)
	}
	answer, err := stateBody(s)
	return Accepted{ID: s.ID, Body: answer, Done: s.Done}, err
}

// Progress returns the response object of a request. If the request is done, the object is its
// answer, otherwise its current state.
// Errors: fault.NotFound for the request of another member, unless the caller is a system
// administrator, and for a token with bounds for every request that it has not sent. If the whole request was refused, Progress returns the error of the request.
func (a *Async) Progress(ctx context.Context, who auth.Actor, id string) ([]byte, error) {
	s, err := a.store.Find(ctx, id)
	mayRead := s.Member == who.Member || who.Admin
	if who.Bounds != nil { // the answer may contain what the token does not read
		mayRead = s.Member == who.Member && s.Token == who.Token
	}
	if fault.KindOf(err) == fault.NotFound || err == nil && !mayRead {
		return nil, fault.NotFoundf("Not Found")
	}
	if err != nil {
		return nil, err
	}
	return stateBody(s)
}

// stateBody returns the response object of a request, or the error if it was refused.
//
//	{"requestId": "…", "createdDate": "…", "complete": false, "processing": true,
//	 "progress": {"state": "waiting", "commands": 3}}
func stateBody(s requests.State) ([]byte, error) {
	if s.Done {
		return s.Answer, s.Err
	}
	state := "waiting"
	if s.Processing {
		state = "processing"
	}
	done := ""
	if s.Executed > 0 {
		done = fmt.Sprintf(`,"done":%d`, s.Executed)
	}
	const form = `{"requestId":"%s","createdDate":"%s","complete":false,"processing":true,` +
		`"progress":{"state":"%s","commands":%d%s}}`
	return fmt.Appendf(nil, form, s.ID, s.Created.UTC().Format(stamp), state, s.Commands, done), nil
}

// Execute executes one accepted request, with all its steps, and returns its state. It does not execute a request
// that is done or that another worker has claimed.
// Errors: fault.NotFound if there is no such request; fault.Transient if the database is not
// available.
func (a *Async) Execute(ctx context.Context, id string) (requests.State, error) {
	for more := true; more; {
		var err error
		_, more, err = a.next(ctx, func() (*requests.Claim, error) { return a.store.ClaimByID(ctx, id) })
		if err != nil {
			return requests.State{}, err
		}
	}
	return a.store.Outcome(ctx, id)
}

// ExecuteWaiting executes all waiting requests, one after the other.
// Errors: fault.Transient if the database is not available.
func (a *Async) ExecuteWaiting(ctx context.Context) error {
	for ctx.Err() == nil {
		claimed, _, err := a.next(ctx, func() (*requests.Claim, error) { return a.store.Claim(ctx) })
		if err != nil || !claimed {
			return err
		}
	}
	return nil
}

// next claims a request and executes it, or its next step. claimed is false if claim returns no request. more
// is true if the request has further steps. Each step has a claim of its own, so that the requests of other
// members are executed between the steps.
//
// A process executes only one request at a time. So if a request crashes the process, no other
// request loses its claim. A request is refused after it has lost too many claims.
func (a *Async) next(ctx context.Context, claim func() (*requests.Claim, error)) (claimed, more bool, err error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return false, false, ctx.Err()
	}
	c, err := claim()
	if err != nil || c == nil {
		return false, false, err
	}
	more, err = a.run(ctx, c)
	return true, more, err
}

// actor returns the actor of an accepted request. Errors: fault.Unproven if the member no
// longer exists or may no longer log in.
func (a *Async) actor(ctx context.Context, member int64, b *auth.Bounds) (auth.Actor, error) {
	who, err := a.actors.ActorWithin(ctx, member, b)
	if fault.KindOf(err) == fault.NotFound {
		return auth.Actor{}, fault.Unprovenf("The member no longer exists")
	}
	if err != nil {
		return auth.Actor{}, err
	}
	may, err := a.actors.MayLogin(ctx, member)
	if err == nil && !may {
		err = fault.Unprovenf("The member may no longer log in")
	}
	return who, err
}

// run executes one request under its claim and stores the outcome. more is true if the request has further
// steps.
func (a *Async) run(ctx context.Context, c *requests.Claim) (more bool, err error) {
	hold := a.Memory.Hold(c.Member)
	defer hold.Release()
	bounded := memory.With(ctx, hold)
	r, err := a.request(bounded, c)
	if err == nil {
		within, span := tracing.Continue(bounded, "asynchronous request", tracing.Consumer, r.Trace)
		span.Text("alds.request", r.ID)
		span.Text("alds.write", c.ID)
		more, err = a.execute(within, c, r)
		span.End(err)
	}
	if more {
		err := c.Release(ctx)
		if errors.Is(err, lease.ErrLost) {
			return false, nil // another worker has the next step
		}
		return true, err
	}
	return false, a.finish(ctx, c, r.ID, err)
}

// request returns the request of a claim. It adds memory to the reservation in ctx, as much as an
// HTTP request with this body would reserve. Errors: those of memory.Hold.Take.
func (*Async) request(ctx context.Context, c *requests.Claim) (r Request, err error) {
	text, err := c.Request(ctx)
	if err != nil {
		return r, err
	}
	head, body, _ := bytes.Cut(text, []byte{'\n'})
	if err := json.Unmarshal(head, &r); err != nil {
		return r, fmt.Errorf("the options of request %s: %w", c.ID, err)
	}
	r.Body = body
	format := document.JSON
	if r.YAML || document.Sniff(body) {
		format = document.YAML
	}
	return r, memory.From(ctx).Take(document.MemoryNeed(body, format))
}

// execute executes one request, or its next step, under its claim, with the current rights of its member.
// Errors: fault.Unproven if the member may no longer log in; the error of auth.Lost if the
// member loses the login or rights during the execution; lease.ErrLost.
func (a *Async) execute(ctx context.Context, c *requests.Claim, r Request) (more bool, err error) {
	ctx, stop := c.Hold(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	who, err := a.actor(ctx, c.Member, r.Bounds)
	if err != nil {
		return false, err
	}
	who.Token, who.Application = r.Token, r.Application
	ctx, unwatch := a.actors.Watch(ctx, auth.Login{Member: c.Member}, who)
	defer unwatch()
	ctx = trail.With(ctx, trail.Origin{Member: c.Member, Address: r.Address, Tool: r.Tool})
	err = a.again(ctx, func(e *Engine) error {
		if r.Undo {
			u := undo.Request{Body: r.Body, YAML: r.YAML, Preview: r.Preview, Comment: r.Comment, IfMoment: r.IfMoment, UpTo: r.UpTo}
			more, err = undo.New(e.assets).Step(ctx, who, u, c)
			return err
		}
		p, err := e.parse(who, r)
		if err == nil {
			_, err = e.execute(ctx, who, p, newResult(c.ID, c.Created, p, e.MaxShown), requests.Identity{Claim: c})
		}
		return err
	})
	if err == nil {
		return more, nil
	}
	a.e.noteDenial(ctx, err)
	if context.Cause(ctx) == lease.ErrLost { //nolint:errorlint // no wrapped error
		return false, lease.ErrLost
	}
	return false, cmp.Or(auth.Lost(ctx), err)
}

// finish stores and logs the outcome of an execution. If err is nil, the answer is already
// stored. If the database was not available, the request is executed again later. If the request
// took longer than the time limit, it is executed one more time. Other errors refuse the request.
// request is the id of the HTTP request, for the log.
func (a *Async) finish(ctx context.Context, c *requests.Claim, request string, err error) error {
	outcome := "done"
	var failed error
	switch {
	case err == nil:
	case errors.Is(err, lease.ErrLost):
		outcome = "lost"
	case ctx.Err() != nil:
		outcome, failed = "handed_back", c.Release(ctx)
	case errors.Is(err, context.DeadlineExceeded) && c.Again:
		outcome, failed = "refused", c.Refuse(ctx, asyncTooSlow())
	case fault.KindOf(err) == fault.Transient:
		outcome, failed = "again", c.Retry(ctx)
	default:
		outcome, failed = "refused", c.Refuse(ctx, err)
	}
	if fault.KindOf(err) == fault.Internal && outcome == "refused" {
		a.log.Error("asynchronous request failed", "request", request, "write", c.ID, "err", err)
	}
	a.e.metrics.async.WithLabelValues(outcome).Inc()
	a.log.Info("asynchronous request", "request", request, "write", c.ID, "member", c.Member, "outcome", outcome)
	if errors.Is(failed, lease.ErrLost) {
		return nil
	}
	return failed
}
