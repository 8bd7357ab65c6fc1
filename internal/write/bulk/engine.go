package bulk

import (
	"context"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Finder answers queries.
type Finder interface {
	// Answer appends the rows of a query to w as a JSON array. info is what the answer contains
	// besides its rows, such as the total number of rows.
	Answer(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, w []byte) (rows, info []byte, err error)
	// IDs returns the Oids of the rows of a query, in order.
	IDs(ctx context.Context, q db.Querier, who auth.Actor, r query.Request) ([]oid.OID, error)
}

// Default limits of one request. A request that exceeds a limit is refused with fault.Invalid.
const (
	maxCommands = 100_000
	maxAssets   = 100_000
	maxShown    = 32 << 20
)

// Engine executes bulk requests. It is safe for concurrent use.
type Engine struct {
	MaxCommands int        // maximum number of commands in one payload
	MaxAssets   int        // maximum number of assets that one request creates or changes
	MaxShown    int        // how many bytes longer than the payload the commands in an answer may be
	Audit       *trail.Log // records denied commands; may be nil
	Queries     *db.DB     // database for payloads that only query; New sets the database of the write engine

	assets *asset.Engine
	finder Finder
	now    func() time.Time

	metrics *metrics
}

// New returns an engine. Its write engine is assets, and finder answers its queries.
func New(assets *asset.Engine, finder Finder) *Engine {
	return &Engine{
		MaxCommands: maxCommands, MaxAssets: maxAssets, MaxShown: maxShown, Queries: assets.DB(),
		assets: assets, finder: finder, now: time.Now, metrics: newMetrics(),
	}
}

// With returns a copy of e that uses another write engine and another finder on the same
// database. The copy has the settings of e and shares its metrics.
func (e *Engine) With(assets *asset.Engine, finder Finder) *Engine {
	other := *e
	other.assets, other.finder = assets, finder
	return &other
}

// Request is the body of POST api/asset and its options. A request for asynchronous execution is
// stored as the JSON form of Request, followed by the body.
type Request struct {
	Body    []byte `json:"-"`    // commands in JSON or in YAML
	YAML    bool   `json:"yaml"` // the body is YAML; if false, document.Sniff decides
	Preview bool   // answer with the projection and change nothing
	Comment string // stored as ChangeComment
	Atomic  bool   // if a command fails, nothing is written
	Key     string // the Idempotency-Key; empty: none
	// IfMoment is the moment that the asset must have, otherwise the command fails. The
	// request must have only one command, on one asset. 0: any moment.
	IfMoment int64

	// Accept and AcceptUndo set the fields below, for the later execution.
	Undo    bool   // the body is that of POST api/undo
	UpTo    int64  // for an undo: the moment of the newest change when it was accepted
	Address string // address of the client
	ID      string // id of the HTTP request, for the log
	Token   string // id of the access token with which the member sent the request; empty: none
	// Application is the name of that access token, and Tool is what the client calls the function that sent the
	// request. They are stored with a request that is executed later.
	Application, Tool string
	Bounds            *auth.Bounds `json:",omitempty"` // limits of that token; nil: none
	Trace             string       // the header traceparent of the HTTP request; empty if the request is not traced
}

// Run executes a request and returns the response object, or with Preview the projected commands.
// If commands fail, the response object lists them, and Run returns no error.
// Errors: fault.Invalid if the body is not a payload, or if the request exceeds a limit;
// fault.Denied if the member may not send the request; fault.Conflict if the Idempotency-Key was
// used for another body, or if the first request with the key is still running; fault.Transient
// if the database is not available.
// Spec: interface 2.5, 4.3.
func (e *Engine) Run(ctx context.Context, who auth.Actor, r Request) ([]byte, error) {
	p, err := e.parse(who, r)
	if err != nil {
		return nil, err
	}
	once, err := e.identity(ctx, who, p)
	if err != nil {
		return nil, err
	}
	return e.execute(ctx, who, p, newResult(asset.NewRequestID(), e.now(), p, e.MaxShown), once)
}

// identity returns the Idempotency-Key of a payload and the hash of its body.
func (e *Engine) identity(ctx context.Context, who auth.Actor, p payload) (requests.Identity, error) {
	hasSecrets := slices.ContainsFunc(p.commands, func(c command) bool { return has(c.node, e.assets.IsSecret) })
	return e.assets.Identity(ctx, who, p.Key, p.Body, hasSecrets)
}

// payload is a request with its parsed commands.
type payload struct {
	Request
	commands []command
	cfg      config
	sealed   map[*document.Node]string // key: a value that is a secret; value: the hash to store instead
}

// maxShown returns the maximum size of the commands that the answer may show, in bytes. The
// parameter more is Engine.MaxShown.
func (p *payload) maxShown(more int) int { return len(p.Body) + more }

// parse parses the body of a request. Errors: fault.Invalid; fault.Denied for an import by an
// actor who is not a system administrator.
func (e *Engine) parse(who auth.Actor, r Request) (payload, error) {
	docs, err := document.Parse(r.Body, r.YAML || document.Sniff(r.Body))
	if err != nil {
		return payload{}, err
	}
	p := payload{Request: r}
	if p.commands, p.cfg, err = decode(docs, e.MaxCommands); err != nil {
		return payload{}, err
	}
	if p.cfg.imports && !who.Admin {
		return payload{}, importDenied()
	}
	p.cfg.atomic = p.cfg.atomic || r.Atomic
	if !r.Preview && r.IfMoment != 0 && !isSingleChange(p.commands) {
		return payload{}, notSingle()
	}
	return p, nil
}

// execute executes a payload. If the request has a claim, its answer is stored. With an
// Idempotency-Key, the answer is stored if the payload writes.
func (e *Engine) execute(
	ctx context.Context, who auth.Actor, p payload, res *result, once requests.Identity,
) (answer []byte, err error) {
	ctx, span := tracing.Child(ctx, "bulk")
	defer func() {
		span.Int("alds.commands", len(p.commands))
		span.Int("alds.failed", res.failed)
		span.End(err)
	}()
	res.stored, res.isSecret = once.Key != "" || once.Claim != nil, e.assets.IsSecret
	switch {
	case p.Preview:
		answer, err = e.preview(ctx, who, p)
	case writes(p.commands):
		answer, err = e.write(ctx, who, p, res, once)
		once.Claim = nil
	default:
		answer, err = e.read(ctx, who, p.commands, res)
	}
	if err == nil && once.Claim != nil { // only a write has stored its answer already
		err = once.Claim.Complete(ctx, answer)
	}
	if err != nil {
		return nil, err
	}
	e.noteDenials(ctx, who, res)
	if !p.Preview {
		e.metrics.count(res, e.now().Sub(res.began))
	}
	return answer, nil
}

// isSingleChange reports whether a payload has exactly one command, an update or an operation.
// Config commands do not count.
func isSingleChange(commands []command) bool {
	n := 0
	for i := range commands {
		switch commands[i].kind {
		case kindConfig:
		case kindUpdate, kindExecute:
			n++
		default:
			return false
		}
	}
	return n == 1
}

// writes reports whether at least one valid command is a create, an update or an operation.
func writes(commands []command) bool {
	for i := range commands {
		switch commands[i].kind {
		case kindCreate, kindUpdate, kindExecute:
			if commands[i].err == nil {
				return true
			}
		}
	}
	return false
}

// write projects and executes the commands in one transaction. The database may retry the
// transaction, so each try starts with an empty result.
func (e *Engine) write(
	ctx context.Context, who auth.Actor, pl payload, res *result, once requests.Identity,
) ([]byte, error) {
	var err error
	if pl.sealed, err = e.seal(ctx, who, pl.commands); err != nil {
		return nil, err
	}
	req := asset.Request{ID: res.id, Comment: pl.Comment, Import: pl.cfg.imports}
	return e.assets.Answer(ctx, who, req, once, func(s *asset.Session) ([]byte, error) {
		return e.carryOut(ctx, s, who, pl, res, func([]*step) error { return nil })
	})
}

// carryOut projects and executes the commands in a session, and returns the response object. It calls projected
// with the steps before it executes them.
// Errors: asset.ErrRollback, with an answer, if a command of an atomic request has failed.
func (e *Engine) carryOut(
	ctx context.Context, s *asset.Session, who auth.Actor, pl payload, res *result, projected func([]*step) error,
) ([]byte, error) {
	res.reset()
	all := e.newListed()
	pr := &projection{Engine: e, q: s.Tx(), who: who, maxAffected: res.cfg.maxAffected, listed: all, s: s}
	steps, err := pr.project(ctx, pl.commands)
	if err == nil && pl.IfMoment != 0 {
		err = requireMoment(steps, pl.IfMoment)
	}
	if err == nil {
		err = projected(steps)
	}
	if err != nil {
		return nil, err
	}
	p := &executor{
		Engine: e, s: s, q: s.Tx(), who: who, res: res,
		aliases: aliasesOf(pl.commands), sealed: pl.sealed, listed: all,
	}
	if err := p.run(ctx, steps); err != nil {
		return nil, err
	}
	if res.cfg.atomic && res.failed > 0 {
		res.rollback()
		return res.append(nil, e.now()), asset.ErrRollback
	}
	return res.append(nil, e.now()), nil
}

// ids returns the Oids that a query within a command finds.
// Errors: those of Finder.IDs and db.ReadInTurn.
func (e *Engine) ids(ctx context.Context, q db.Querier, who auth.Actor, r query.Request) (found []oid.OID, err error) {
	err = db.ReadInTurn(ctx, q, func(ctx context.Context) error {
		found, err = e.finder.IDs(ctx, q, who, r)
		return err
	})
	return found, err
}

// requireMoment sets the moment that the asset of the first step must have. All steps except
// nested creates must be on the same asset. Errors: fault.Invalid.
func requireMoment(steps []*step, moment int64) error {
	var first *step
	for _, s := range steps {
		if s.kind == kindCreate && !s.deferred {
			continue
		}
		if first == nil {
			first, s.ifMoment = s, moment
		}
		if s.deferred || s.from != first.from {
			return notSingle()
		}
	}
	return nil
}

// read answers a payload that only queries, in one snapshot and without a write transaction.
func (e *Engine) read(ctx context.Context, who auth.Actor, commands []command, res *result) ([]byte, error) {
	var answer []byte
	err := e.Queries.Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
		res.reset()
		pr := &projection{Engine: e, q: tx, who: who, maxAffected: res.cfg.maxAffected, listed: e.newListed()}
		steps, err := pr.project(ctx, commands)
		if err != nil {
			return err
		}
		p := &executor{Engine: e, q: tx, who: who, res: res}
		err = p.run(ctx, steps)
		answer = res.append(nil, e.now())
		return err
	})
	return answer, err
}
