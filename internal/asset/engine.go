package asset

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/find"
	"github.com/alds-dev/alds/internal/folding"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/requests"
)

// Credentials keeps what members log in with. A nil pointer leaves that part
// as it is. A username that another member has is a fault.Conflict.
type Credentials interface {
	// Seal makes what Set takes of a password, which takes long.
	// Errors: fault.Invalid for one that is no good.
	Seal(ctx context.Context, password string) (string, error)
	Set(ctx context.Context, tx *db.Tx, member int64, username, sealed *string) error
}

// CommitListener is told of every committed write that made versions.
type CommitListener interface {
	Committed(auditID int64)
}

// Engine carries out commands. It is safe for concurrent use.
type Engine struct {
	Requests       *requests.Store // idempotency keys and accepted requests
	OnScopesHidden func()          // called after every commit that hid projects or showed them again; may be nil
	MaxAssets      int             // most assets one request changes, those that its operations reach included; 0: no limit

	db        *db.DB
	model     *meta.Model
	layout    *layout
	secrets   map[string]bool // names of attributes
	creds     Credentials
	listener  CommitListener
	log       *slog.Logger
	ids       block // of asset ids
	audits    block
	allocator allocator
	finder    *find.Finder // answers the filters of operations
}

// New returns the write engine on d. creds and changes may be nil: then
// members have no logins, and nobody is told.
func New(d *db.DB, m *meta.Model, creds Credentials, changes CommitListener, log *slog.Logger) *Engine {
	l := newLayout(m)
	return &Engine{
		Requests: requests.New(d),

		db: d, model: m, layout: l, secrets: secretNames(m), creds: creds, listener: changes, log: log,
		ids:       block{sequence: "id", size: 1000},
		audits:    block{sequence: "audit", size: 100},
		allocator: allocator{db: d, ranked: l.ranked},
		finder:    find.New(d, m),
	}
}

// Model returns the model the engine works by.
func (e *Engine) Model() *meta.Model { return e.model }

// DB returns the database the engine writes to.
func (e *Engine) DB() *db.DB { return e.db }

// Known is what Lookup tells of an asset.
type Known struct {
	OID     oid.OID // of its concrete type
	Deleted bool    // it is, or a project that it lies in
}

// Lookup finds which of the assets named exist and are visible to who; others
// are absent from the answer.
func (e *Engine) Lookup(ctx context.Context, q db.Querier, who auth.Actor, all []oid.OID) (map[oid.OID]Known, error) {
	wanted := make(map[int64][]oid.OID, len(all))
	ids := make([]int64, 0, len(all))
	for _, o := range all {
		if t, ok := e.model.Type(o.Type); ok && !t.Virtual {
			id := t.Stored(o.ID)
			wanted[id] = append(wanted[id], o)
			ids = append(ids, id)
		}
	}
	found := make(map[oid.OID]Known, len(all))
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		rows, err := q.Query(ctx, `SELECT id, type, state, scope_id, `+isHidden(who)+` FROM asset WHERE id IN `+in, args...)
		if err != nil {
			return nil, fmt.Errorf("look up assets: %w", err)
		}
		err = each(rows, func() error { return e.scanKnown(rows, who, wanted, found) })
		if err != nil {
			return nil, fmt.Errorf("look up assets: %w", err)
		}
	}
	return found, nil
}

func (e *Engine) scanKnown(rows *db.Rows, who auth.Actor, wanted map[int64][]oid.OID, found map[oid.OID]Known) error {
	var id int64
	var code, state int
	var scope *int64
	var hidden bool
	if err := rows.Scan(&id, &code, &state, &scope, &hidden); err != nil {
		return err
	}
	t, ok := e.model.TypeByCode(code)
	if !ok || !sees(who, scope) {
		return nil
	}
	for _, o := range wanted[id] {
		if as, _ := e.model.Type(o.Type); t.IsA(as) {
			found[o] = Known{OID: oid.OID{Type: t.Name, ID: t.Shown(id)}, Deleted: state == stateDeleted || hidden}
		}
	}
	return nil
}

// sees reports whether an actor may read what lies in a security scope.
func sees(who auth.Actor, scope *int64) bool {
	if who.All || scope == nil {
		return true
	}
	_, ok := slices.BinarySearch(who.Scopes, *scope)
	return ok
}

// Request is what the audit keeps of a write.
type Request struct {
	ID      string // UUID, unique for ever: a repeated one is a conflict
	Comment string // ChangeComment; may be empty
	Import  bool   // creates may say who made an asset and changed it last, and when
}

// Write runs fn in the transaction of one request and leaves an audit behind.
// fn may run several times, each time from the start, when the database asks
// for a retry. When the connection is lost during commit, the audit tells
// whether the write happened.
// Errors: what fn returns; fault.Transient when the database is not to be had.
func (e *Engine) Write(ctx context.Context, who auth.Actor, req Request, fn func(*Session) error) error {
	var s *Session
	err := e.db.Write(ctx, func(tx *db.Tx) error {
		s = &Session{e: e, tx: tx, who: who, req: req, aliases: map[string]*Handle{}}
		if err := s.begin(ctx); err != nil {
			return err
		}
		if err := fn(s); err != nil {
			return err
		}
		return s.end(ctx)
	})
	if errors.Is(err, db.ErrUnknownOutcome) {
		err = e.findOutcome(ctx, req.ID, err)
	}
	if err == nil && s.scopesHidden && e.OnScopesHidden != nil {
		e.OnScopesHidden()
	}
	if err == nil && s.last > 0 && e.listener != nil {
		e.listener.Committed(s.audit)
	}
	return err
}

// outcomeTries and settlePause bound the wait for a database that went away
// between our commit and its answer.
const (
	outcomeTries = 20
	outcomePause = 250 * time.Millisecond
)

// findOutcome finds out whether a commit without an answer happened. The locking
// read waits for the lost transaction if the server has not given it up yet.
func (e *Engine) findOutcome(ctx context.Context, request string, lost error) error {
	for range outcomeTries {
		var id int64
		err := e.db.Small(ctx, func(tx *db.Tx) error {
			return tx.QueryRow(ctx, `SELECT id FROM audit WHERE request_id = ?`+e.db.Dialect.ForShare, request).Scan(&id)
		})
		switch fault.KindOf(err) {
		case fault.NotFound:
			return fault.Transientf(lost, "the connection to the database was lost, and nothing was changed")
		case fault.Transient:
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return lost
		case <-time.After(outcomePause):
		}
	}
	return lost
}

// Session is the transaction of one request. It is used by one goroutine.
type Session struct {
	e       *Engine
	tx      *db.Tx
	who     auth.Actor
	req     Request
	audit   int64
	first   int64 // moments taken so far; 0 when none
	last    int64
	now     int64 // UTC microseconds of the database's clock; 0: not asked yet
	aliases map[string]*Handle

	named         int              // assets that the request changes by its commands
	scopesHidden  bool             // projects were hidden, or shown again
	partsChanged  int              // assets that their operations reached beside those
	partOps       map[int64]string // the operation that reached an asset last
	createdScopes map[int64]bool   // projects that the request has made
}

// Count tells how many assets the request has named so far; those that its
// operations reach count on top of them.
func (s *Session) Count(n int) { s.named = n }

// Who returns on whose behalf the request is carried out. What was known before
// of hidden projects holds until the request has hidden some, or shown.
func (s *Session) Who() auth.Actor {
	who := s.who
	if s.scopesHidden {
		who.Hidden = nil
	}
	return who
}

// Tx returns the transaction, for queries between commands.
func (s *Session) Tx() *db.Tx { return s.tx }

// Audit returns the id of the audit row.
func (s *Session) Audit() int64 { return s.audit }

// Define gives an asset that a command will make a name for later values.
// It reports false when the name is taken.
func (s *Session) Define(alias string, h *Handle) bool {
	if _, taken := s.aliases[alias]; taken {
		return false
	}
	s.aliases[alias] = h
	return true
}

// Handle returns what a name was given to, made yet or not.
func (s *Session) Handle(alias string) (*Handle, bool) {
	h, ok := s.aliases[alias]
	return h, ok
}

// Alias returns the asset made under a name, if it has been made.
func (s *Session) Alias(name string) (*Handle, bool) {
	h, ok := s.aliases[name]
	return h, ok && h.Made
}

// begin takes the id of the audit.
func (s *Session) begin(ctx context.Context) (err error) {
	s.audit, err = s.e.nextAudit(ctx, s.tx)
	return err
}

// end writes the audit row, whose request id refuses a second request with the
// same one. A request that changed nothing needs no fan-out. The shared lock on
// the generation orders this write against every change of a webhook
// subscription.
func (s *Session) end(ctx context.Context) error {
	var comment, folded any
	if s.req.Comment != "" {
		comment = s.req.Comment
	}
	if !folding.IsPlain(s.req.Comment) {
		folded = folding.Of(s.req.Comment)
	}
	imported := int64(0)
	if s.req.Import {
		imported = 1
	}
	generation, fanState := `value`, int64(0)
	from := ` FROM sequence WHERE name = 'webhook'` + s.e.db.Dialect.ForShare
	if s.last == 0 {
		generation, fanState, from = `0`, 1, ``
	}
	_, err := s.tx.Exec(ctx, `INSERT INTO audit (id, request_id, actor_id, at, comment, folded, first_moment, last_moment, generation, fan_state, imported)`+
		` SELECT ?, ?, ?, `+s.e.db.Dialect.NowMicros+`, ?, ?, ?, ?, `+generation+`, ?, ?`+from,
		s.audit, s.req.ID, s.who.Member, comment, folded, s.first, s.last, fanState, imported)
	if err != nil {
		return fmt.Errorf("write the audit: %w", err)
	}
	return nil
}

// block hands out ids from a stretch taken from a sequence, per process.
type block struct {
	sequence string
	size     int64
	mu       sync.Mutex
	next     int64
	end      int64 // exclusive
}

// allocate returns the first of n consecutive ids.
func (b *block) allocate(ctx context.Context, d *db.DB, n int64) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end-b.next < n {
		size := max(b.size, n)
		err := d.Small(ctx, func(tx *db.Tx) error {
			first, err := advanceSequence(ctx, tx, b.sequence, size)
			b.next, b.end = first, first+size
			return err
		})
		if err != nil {
			b.next, b.end = 0, 0
			return 0, fmt.Errorf("take %s: %w", b.sequence, err)
		}
	}
	first := b.next
	b.next += n
	return first, nil
}

// advanceSequence moves a sequence by n and returns the first value passed.
func advanceSequence(ctx context.Context, tx *db.Tx, name string, n int64) (int64, error) {
	if _, err := tx.Exec(ctx, `UPDATE sequence SET value = value + ? WHERE name = ?`, n, name); err != nil {
		return 0, err
	}
	var value int64
	err := tx.QueryRow(ctx, `SELECT value FROM sequence WHERE name = ?`, name).Scan(&value)
	return value - n + 1, err
}

// nextAudit returns an audit id. Where the small pool must not be used inside
// a transaction the id comes from the transaction itself: a block would
// outlive its rollback.
func (e *Engine) nextAudit(ctx context.Context, tx *db.Tx) (int64, error) {
	if !e.db.Dialect.SmallInside {
		return advanceSequence(ctx, tx, e.audits.sequence, 1)
	}
	return e.audits.allocate(ctx, e.db, 1)
}

func (e *Engine) nextIDs(ctx context.Context, tx *db.Tx, n int64) (int64, error) {
	if !e.db.Dialect.SmallInside {
		return advanceSequence(ctx, tx, e.ids.sequence, n)
	}
	return e.ids.allocate(ctx, e.db, n)
}
