package bulk

import (
	"context"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/doc"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Finder answers queries.
type Finder interface {
	// Answer appends the rows of a query as a JSON array and returns its result
	// info.
	Answer(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, w []byte) (rows, info []byte, err error)
	// IDs returns the Oids of the rows, in order.
	IDs(ctx context.Context, q db.Querier, who auth.Actor, r query.Request) ([]oid.OID, error)
}

// Limits of one request. Exceeding one is fault.Invalid.
const (
	maxCommands = 100_000
	maxAssets   = 100_000
	maxShown    = 64 << 20
)

// Engine executes bulk requests. It is safe for concurrent use.
type Engine struct {
	MaxCommands int        // commands of one payload
	MaxAssets   int        // assets one request creates or changes
	MaxShown    int        // bytes by which the commands that an answer shows may be longer than the payload
	Audit       *trail.Log // of denied commands; may be nil
	Queries     *db.DB     // answers payloads of queries alone; New sets the database that is written

	assets *asset.Engine
	finder Finder
	now    func() time.Time

	metrics *metrics
}

// New returns the bulk engine over the write engine and a reader.
func New(assets *asset.Engine, finder Finder) *Engine {
	return &Engine{MaxCommands: maxCommands, MaxAssets: maxAssets, MaxShown: maxShown, Queries: assets.DB(), assets: assets, finder: finder, now: time.Now, metrics: newMetrics()}
}

// With returns an engine over other engines of the same database. It shares the
// settings and metrics of e.
func (e *Engine) With(assets *asset.Engine, finder Finder) *Engine {
	other := *e
	other.assets, other.finder = assets, finder
	return &other
}

// Request is the body of POST api/asset and its options. Its JSON form
// is stored with an accepted request.
type Request struct {
	Body    []byte `json:"-"`    // commands in JSON, or in YAML
	YAML    bool   `json:"yaml"` // the body is YAML
	Preview bool   // answer with the projection and change nothing
	Comment string // stored as ChangeComment
	Atomic  bool   // all or nothing
	Key     string // the Idempotency-Key; empty: none
	// IfMoment fails the one command of the request unless its asset has this
	// moment. 0: any.
	IfMoment int64
	Address  string // of the client, for a request that is executed later
	ID       string // of the HTTP request, for the log of one that is executed later
	Trace    string // its traceparent, likewise; empty: it is not traced
}

// Run executes a request and returns the response object, or with Preview the
// projected commands. A request whose commands fail is no error.
// Errors: fault.Invalid when the body is no payload; fault.Denied when it asks
// for what the member may not do; fault.Transient when the database is not to be
// had.
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

// identity returns by what a payload is known again.
func (e *Engine) identity(ctx context.Context, who auth.Actor, p payload) (requests.Identity, error) {
	hasSecrets := slices.ContainsFunc(p.commands, func(c command) bool { return has(c.node, e.assets.IsSecret) })
	return e.assets.Identity(ctx, who, p.Key, p.Body, hasSecrets)
}

// payload is a body that has been read.
type payload struct {
	Request
	commands []command
	cfg      config
	sealed   map[*doc.Node]string // what is stored of the secrets among the values
}

// maxShown returns how many bytes of commands the answer may show.
func (p *payload) maxShown(more int) int { return len(p.Body) + more }

// parse reads a body. Errors: fault.Invalid; fault.Denied for an import by an actor
// who is not a system administrator.
func (e *Engine) parse(who auth.Actor, r Request) (payload, error) {
	docs, err := doc.Parse(r.Body, r.YAML || doc.Sniff(r.Body))
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

// execute executes a payload. Its answer is stored when the request has an
// Idempotency-Key or a claim.
func (e *Engine) execute(ctx context.Context, who auth.Actor, p payload, res *result, once requests.Identity) (answer []byte, err error) {
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
	if err == nil && once.Claim != nil { // nothing has been written yet
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

// isSingleChange reports whether a payload has one command, an update or operation.
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

// writes reports whether any command changes something.
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

// write runs both phases in one transaction, which the database may retry: each try
// starts from the beginning.
func (e *Engine) write(ctx context.Context, who auth.Actor, pl payload, res *result, once requests.Identity) ([]byte, error) {
	var err error
	if pl.sealed, err = e.seal(ctx, who, pl.commands); err != nil {
		return nil, err
	}
	req := asset.Request{ID: res.id, Comment: pl.Comment, Import: pl.cfg.imports}
	return e.assets.Answer(ctx, who, req, once, func(s *asset.Session) ([]byte, error) {
		res.reset()
		all := e.newListed()
		steps, err := (&projection{Engine: e, q: s.Tx(), who: who, maxAffected: res.cfg.maxAffected, listed: all, s: s}).project(ctx, pl.commands)
		if err == nil && pl.IfMoment != 0 {
			err = requireMoment(steps, pl.IfMoment)
		}
		if err != nil {
			return nil, err
		}
		p := &executor{Engine: e, s: s, q: s.Tx(), who: who, res: res, aliases: aliasesOf(pl.commands), sealed: pl.sealed, listed: all}
		if err := p.run(ctx, steps); err != nil {
			return nil, err
		}
		if res.cfg.atomic && res.failed > 0 {
			res.rollback()
			return res.append(nil, e.now()), asset.ErrRollback
		}
		return res.append(nil, e.now()), nil
	})
}

// ids answers a query whose rows a command needs. Errors: as Finder.IDs and db.ReadInTurn.
func (e *Engine) ids(ctx context.Context, q db.Querier, who auth.Actor, r query.Request) (found []oid.OID, err error) {
	err = db.ReadInTurn(q, func() error {
		found, err = e.finder.IDs(ctx, q, who, r)
		return err
	})
	return found, err
}

// requireMoment sets the moment that the first step requires of its asset, if all
// steps but creates, which are nested in it, are about one asset.
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

// read answers a payload of queries in one snapshot, without a write
// transaction.
func (e *Engine) read(ctx context.Context, who auth.Actor, commands []command, res *result) ([]byte, error) {
	var answer []byte
	err := e.Queries.Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
		res.reset()
		steps, err := (&projection{Engine: e, q: tx, who: who, maxAffected: res.cfg.maxAffected, listed: e.newListed()}).project(ctx, commands)
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
