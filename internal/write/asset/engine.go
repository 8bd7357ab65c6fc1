package asset

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Credentials stores usernames and passwords. A nil pointer leaves that part as
// it is. A username that another member has is a fault.Conflict.
type Credentials interface {
	// Seal makes the hash of a password that Set stores. It is slow.
	// Errors: fault.Invalid for one that is no good.
	Seal(ctx context.Context, password string) (string, error)
	Set(ctx context.Context, tx *db.Tx, member int64, username, sealed *string) error
	// HaveLogin reports whether one of some members has a username and a password.
	HaveLogin(ctx context.Context, tx *db.Tx, members []int64) (bool, error)
	// Prove reports whether a password is that of a member. It is slow, and the
	// slower the more wrong ones came before.
	Prove(ctx context.Context, member int64, password string) (bool, error)
	// Digest returns a slow hash in 64 characters, the same for the same text and salt.
	Digest(ctx context.Context, text, salt string) (string, error)
}

// CommitListener is called after every committed write that made versions, with its
// audit and id. waits is false where its fan-out is known to be left out.
type CommitListener interface {
	Committed(auditID int64, write string, waits bool)
}

// Engine carries out commands. It is safe for concurrent use.
type Engine struct {
	Requests *requests.Store // idempotency keys and accepted requests
	// OnModelChanged is called after every commit that changed rows of the model, and
	// before Write returns; may be nil.
	OnModelChanged  func(context.Context)
	OnRolesChanged  func()           // called after every commit that changed roles or the tree of projects; may be nil
	OnScopesHidden  func()           // called after every commit that hid projects or showed them again; may be nil
	OnLoginsChanged func()           // called after every commit that set usernames or passwords; may be nil
	Unwatched       func() int64     // the generation of the subscriptions at which none is enabled, -1 where that is not known; may be nil
	Contents        *blob.Store      // the bytes of attachments and images
	MaxContent      int64            // most bytes of one of them; 0: no limit
	MaxAssets       int              // most assets one request changes, those that its operations reach included; 0: no limit
	MaxWritten      int              // most bytes of the texts of versions that one request writes
	Tracking        catalog.Tracking // where effort may be written, at the generation of the model; zero: everywhere
	NobodyElsewhere bool             // at the generation of the model no process reads elsewhere; see catalog.ReadElsewhere

	db         *db.DB
	model      *meta.Model
	generation int64 // of the model; 0: writes do not compare it
	layout     *layout
	secrets    map[string]bool // names of attributes
	creds      Credentials
	listener   CommitListener
	log        *slog.Logger
	ids        *block // of asset ids
	audits     *block
	allocator  *allocator
	finder     *find.Finder // answers the filters of operations
}

// New returns the write engine on d. creds and listener may be nil: then members
// have no logins, and no one is notified.
func New(d *db.DB, m *meta.Model, creds Credentials, changes CommitListener, log *slog.Logger) *Engine {
	return &Engine{
		Requests: requests.New(d),
		Contents: blob.New(d, blob.Options{}), MaxWritten: MaxWritten,

		db: d, model: m, layout: newLayout(m, 0, d.Dialect), secrets: secretNames(m), creds: creds, listener: changes, log: log,
		ids:       &block{sequence: "id", size: 1000},
		audits:    &block{sequence: "audit", size: 100},
		allocator: &allocator{db: d},
		finder:    find.New(d, m),
	}
}

// With returns an engine that works by another model of the same database, read at
// a generation of it: its writes fail with ErrModelChanged once there is another;
// not so with 0. It shares everything else with e: the settings, the blocks of ids,
// the requests that run.
func (e *Engine) With(m *meta.Model, generation int64) *Engine {
	other := *e
	other.generation = generation
	other.model, other.layout, other.secrets, other.finder = m, newLayout(m, generation, e.db.Dialect), secretNames(m), e.finder.With(m)
	return &other
}

// Model returns the model the engine works by.
func (e *Engine) Model() *meta.Model { return e.model }

// DB returns the database the engine writes to.
func (e *Engine) DB() *db.DB { return e.db }

// secretNames are the attributes of which at most a hash is stored.
func secretNames(m *meta.Model) map[string]bool {
	names := map[string]bool{}
	for _, t := range m.Types {
		for _, a := range t.Attrs {
			if a.Place.Kind == meta.Secret {
				names[a.Name] = true
			}
		}
	}
	return names
}

// OldPassword is the attribute in which a member proves its password to change it.
// It is never stored nor shown.
const OldPassword = "OldPassword"

// provenPassword is what is known of an old password that is right.
const provenPassword = "proven"

// MaxOwnPasswords is how many passwords are hashed for a request of somebody who sets
// those of no others: it has to change its own, which takes one.
const MaxOwnPasswords = 8

// SetsPasswords reports whether an actor may set passwords of others.
func (e *Engine) SetsPasswords(who auth.Actor) bool {
	return who.Admin || e.layout.member != nil && e.layout.member.Rights.Kind.Roles(meta.ToChange, "").Has(who.System)
}

// IsSecret reports whether at most a hash is stored of attributes with this name.
func (e *Engine) IsSecret(attr string) bool { return e.secrets[attr] }

// Seal returns the hash to store of a secret, for Change.Sealed; empty for other
// attributes. It is slow, so it is called before Write, which holds locks. An
// invalid secret is not sealed: its command will fail. Of OldPassword it returns
// only that it is the caller's password.
// Errors: fault.Transient when ctx ends; an *auth.SlowDownError after too many
// wrong old passwords.
func (e *Engine) Seal(ctx context.Context, who auth.Actor, attr string, v Value) (string, error) {
	if e.creds == nil || !e.secrets[attr] || v.isEmpty() {
		return "", nil
	}
	if attr == OldPassword {
		right, err := e.creds.Prove(ctx, who.Member, v.Text)
		if err != nil || !right {
			return "", err
		}
		return provenPassword, nil
	}
	sealed, err := e.creds.Seal(ctx, v.Text)
	if isCommands(err) {
		return "", nil
	}
	return sealed, err
}

// Request is what the audit records of a write.
type Request struct {
	ID      string // UUID, unique for ever: a repeated one is a conflict
	Comment string // ChangeComment; may be empty
	Import  bool   // creates may say who made an asset and changed it last, and when
}

// Session is the transaction of one request. It is used by one goroutine.
type Session struct {
	e       *Engine
	tx      *db.Tx
	who     auth.Actor
	trace   string // traceparent of the write; empty: it is not traced
	req     Request
	audit   int64
	quiet   bool  // the audit needs no fan-out, as far as is known
	now     int64 // UTC microseconds of the database's clock; 0: not asked yet
	aliases map[string]*Handle
	named   int // assets that the request changes by its commands
	effects

	modelChanged      bool // rows of the model were written
	definitionsLocked bool // no other request writes definitions before this one ends
	finished          bool // the audit is written
}

// Count sets how many assets the request has named so far, without those that its
// operations change in addition.
func (s *Session) Count(n int) { s.named = n }

// Who returns on whose behalf the request is carried out, with the role of a creator
// in the projects that it has made. Its caches of hidden projects and of members are
// dropped once the request has changed what they hold.
func (s *Session) Who() auth.Actor {
	who := s.who
	if s.scopesHidden {
		who.Hidden = nil
	}
	if s.rolesChanged {
		who.Members = nil
	}
	if who.All {
		return who
	}
	return who.Creating(slices.Sorted(maps.Keys(s.createdScopes)))
}

// Tx returns the transaction, for queries between commands.
func (s *Session) Tx() *db.Tx { return s.tx }

// Define gives an asset that a command will make an alias for later values. It
// reports false when the alias is in use.
func (s *Session) Define(alias string, h *Handle) bool {
	if _, used := s.aliases[alias]; used {
		return false
	}
	s.aliases[alias] = h
	return true
}

// Handle returns the asset with an alias, made yet or not.
func (s *Session) Handle(alias string) (*Handle, bool) {
	h, ok := s.aliases[alias]
	return h, ok
}

// Alias returns the asset with an alias, if it has been made.
func (s *Session) Alias(name string) (*Handle, bool) {
	h, ok := s.aliases[name]
	return h, ok && h.Made
}

// clock is the database's time when the request first asked. No later moment is
// stamped earlier.
func (s *Session) clock(ctx context.Context) (int64, error) {
	if s.now == 0 {
		if err := s.tx.QueryRow(ctx, `SELECT `+s.e.db.Dialect.NowMillis).Scan(&s.now); err != nil {
			return 0, fmt.Errorf("read the clock: %w", err)
		}
	}
	return s.now, nil
}

// idOf returns the stored id of what a command addresses, if it exists before the
// batch.
func (s *Session) idOf(ref Ref) (int64, bool) {
	if ref.Handle != nil {
		return ref.Handle.ID, ref.Handle.Made
	}
	return storedID(s.e.model, ref.OID)
}

// valueID returns the stored id that a relation's value names, unless by name.
func (s *Session) valueID(v Value) (int64, bool) {
	switch {
	case v.Kind != Text || v.Text == "":
		return 0, false
	case v.isAlias():
		return s.idOf(Ref{Handle: s.aliases[v.Text]})
	}
	o, err := oid.Parse(v.Text)
	if err != nil {
		return 0, false
	}
	return storedID(s.e.model, o)
}

// typeOf returns the type of a command's asset as far as it is known before
// the asset is loaded; nil when it is not.
func (s *Session) typeOf(c *Command) *meta.Type {
	if c.Type != nil {
		return c.Type
	}
	if c.Target.Handle != nil {
		return c.Target.Handle.Type
	}
	t, _ := s.e.model.Type(c.Target.OID.Type)
	return t
}
