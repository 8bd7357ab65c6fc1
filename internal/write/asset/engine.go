package asset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/audit"
	"github.com/alds-dev/alds/internal/write/asset/sequence"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Credentials stores usernames and passwords.
type Credentials interface {
	// Seal returns the hash of a password, for Set. It is slow.
	// Errors: fault.Invalid for a password that is not accepted.
	Seal(ctx context.Context, password string) (string, error)
	// Set stores the username and the hash of the password of a member. If one of the pointers is
	// nil, that value does not change.
	// Errors: fault.Conflict if another member has the username.
	Set(ctx context.Context, tx *db.Tx, member int64, username, sealed *string) error
	// HaveLogin reports whether at least one of the members has a username and a password.
	HaveLogin(ctx context.Context, tx *db.Tx, members []int64) (bool, error)
	// Prove reports whether a password is the password of a member. It is slow, and each wrong
	// password makes the next calls slower.
	Prove(ctx context.Context, member int64, password string) (bool, error)
	// Digest returns a slow hash of 64 characters. It depends only on text and salt.
	Digest(ctx context.Context, text, salt string) (string, error)
}

// CommitListener is called after every commit of a write that created versions.
type CommitListener interface {
	// Committed is called with the id of the audit row and the Request.ID of the write. waits is
	// false if the write is known to need no fan-out.
	Committed(auditID int64, write string, waits bool)
}

// Engine executes commands. It is safe for concurrent use.
type Engine struct {
	Requests *requests.Store // idempotency keys and accepted requests
	// OnModelChanged is called after every commit that changed rows of the model, and before
	// Write returns; may be nil.
	OnModelChanged  func(context.Context)
	OnRolesChanged  func(administrators bool) // see auth.Service.RolesChanged; may be nil
	OnScopesHidden  func()                    // called after every commit that hid projects or restored hidden projects; may be nil
	OnLoginsChanged func()                    // called after every commit that set usernames or passwords; may be nil
	// Unwatched returns a generation of the webhook subscriptions in which no subscription is
	// enabled, or -1 if no such generation is known; may be nil.
	Unwatched  func() int64
	Contents   *blob.Store // the bytes of attachments and images
	MaxContent int64       // limit for the bytes of one attachment or image; 0: none
	// MaxAssets limits the assets that one request changes, including assets that its operations
	// change in addition; 0: no limit.
	MaxAssets  int
	MaxEffects int              // limit for the changes of which a plan consists
	MaxWritten int              // limit for the bytes of texts in the versions that one request writes
	Tracking   catalog.Tracking // where the settings allow effort, at the generation of the model; zero: everywhere
	// NobodyElsewhere is true if, at the generation of the model, no process reads from a
	// replica. Writes are then not counted; see catalog.ReadElsewhere.
	NobodyElsewhere bool

	db         *db.DB
	model      *meta.Model
	generation int64 // generation of the model; 0: writes do not compare generations
	layout     *layout
	secrets    map[string]bool // key: name of an attribute that is a secret
	creds      Credentials
	listener   CommitListener
	ids        *sequence.Block // allocates ids of assets
	audits     *audit.Log
	allocator  *sequence.Allocator
	finder     *find.Finder // evaluates filters of operations, and finds the assets that an actor sees
}

// New returns the write engine on d. If creds is nil, members have no logins. If the listener
// changes is nil, commits are not reported.
func New(d *db.DB, m *meta.Model, creds Credentials, changes CommitListener) *Engine {
	return &Engine{
		Requests: requests.New(d),
		Contents: blob.New(d, blob.Options{}), MaxWritten: MaxWritten, MaxEffects: maxEffects,

		db: d, model: m, layout: newLayout(m, 0, d.Dialect), secrets: secretNames(m),
		creds: creds, listener: changes,
		ids:       sequence.NewBlock("id", 1000),
		audits:    audit.New(d),
		allocator: sequence.New(d),
		finder:    find.New(d, m),
	}
}

// With returns an engine for m, another model of the same database. generation is the generation
// at which m was read. If the database has another generation, writes fail with ErrModelChanged.
// If generation is 0, writes do not compare generations. The new engine shares the settings, the
// blocks of ids and the running requests with e.
func (e *Engine) With(m *meta.Model, generation int64) *Engine {
	other := *e
	other.model, other.generation = m, generation
	other.layout, other.secrets, other.finder = newLayout(m, generation, e.db.Dialect), secretNames(m), e.finder.With(m)
	return &other
}

// Model returns the model of the engine.
func (e *Engine) Model() *meta.Model { return e.model }

// DB returns the database of the engine.
func (e *Engine) DB() *db.DB { return e.db }

// secretNames returns the names of the secrets: attributes of which at most a hash is stored.
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

// OldPassword is the attribute in which members send their current password to change it. It
// is never stored or shown.
const OldPassword = "OldPassword"

// provenPassword is the value of Change.Sealed for an OldPassword that is right.
const provenPassword = "proven"

// MaxOwnPasswords limits the passwords that are hashed for one request of a caller who may
// not set passwords of others. To change the password of the caller, one hash is enough.
const MaxOwnPasswords = 8

// SetsPasswords reports whether an actor may set the passwords of other members.
func (e *Engine) SetsPasswords(who auth.Actor) bool {
	return who.Admin || e.layout.member != nil && e.layout.member.Rights.Kind.Roles(meta.ToChange, "").Has(who.System)
}

// IsSecret reports whether attributes with this name are secrets. At most a hash of a secret is
// stored.
func (e *Engine) IsSecret(attr string) bool { return e.secrets[attr] }

// Seal returns the hash of a secret, for Change.Sealed. It is slow, so it must be called before
// Write, which holds locks. It returns an empty text if the attribute is not a secret. It also
// returns an empty text for an invalid secret; the command with this secret fails later. For
// OldPassword it returns a constant if the value is the caller's password, else an empty text.
// Errors: fault.Transient if ctx ends; *auth.SlowDownError after too many wrong old passwords.
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

// Request contains the data of a write that its audit row stores.
type Request struct {
	ID      string // UUID; a second write with the same ID is refused as a conflict
	Comment string // ChangeComment; may be empty
	Import  bool   // creates may set who created an asset, who changed it last, and when
	Trial   bool   // is always rolled back, so that any access token may send it

	Way      auth.Way // see auth.Bounds
	Proposal oid.OID  // the proposal that the write applies; null: none
}

// Session is the transaction of one request. Only one goroutine may use it.
type Session struct {
	e       *Engine
	tx      *db.Tx
	who     auth.Actor
	tool    string // what the client calls the function that sent the request; empty: unknown
	trace   string // traceparent of the write; empty: the write is not traced
	req     Request
	audit   int64 // id of the audit row
	quiet   bool  // true if the audit row is known to need no fan-out
	now     int64 // UTC microseconds of the database's clock; 0: not read yet; see clock
	aliases map[string]*Handle
	changed int // number of changes that were written; each has a moment
	named   int // number of assets that the commands of the request name; see Count
	effects

	recording bool // see RecordEffect

	undoSince int64          // the first moment that the request takes back
	undoSteps []int64        // ids of the audit rows of earlier steps of an undo
	undoes    map[int64]bool // ids of the assets of which the request takes back changes

	recentRanks map[string]int64 // key: sequence of ranks; value: the latest rank that a command of the request has given

	latestContent decoded // the latest content that a command of the request has sent

	modelChanged      bool // true if rows of the model were changed
	definitionsLocked bool // see lockDefinitions
	finished          bool // true if the audit row is written; no more commands may follow
}

// Count sets the number of assets that the commands of the request have named so far. The number
// does not include assets that operations change in addition.
func (s *Session) Count(n int) { s.named = n }

// Who returns the actor of the request. In projects that the request has created, the actor
// has the role of a creator. The lists of hidden projects and of visible members are nil if
// the request may have changed them.
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

// Define sets the alias of an asset that a command will create. It returns false if the alias is in
// use.
func (s *Session) Define(alias string, h *Handle) bool {
	if _, used := s.aliases[alias]; used {
		return false
	}
	s.aliases[alias] = h
	return true
}

// Handle returns the handle with an alias. It may be pending.
func (s *Session) Handle(alias string) (*Handle, bool) {
	h, ok := s.aliases[alias]
	return h, ok
}

// Alias returns the handle with an alias. It returns false if the asset has not been created.
func (s *Session) Alias(name string) (*Handle, bool) {
	h, ok := s.aliases[name]
	return h, ok && h.Made
}

// clock returns the time of the database's clock, in UTC microseconds. It reads the clock at the
// first call only. The moments of the request get this time or a later time.
func (s *Session) clock(ctx context.Context) (int64, error) {
	if s.now == 0 {
		if err := s.tx.QueryRow(ctx, `SELECT `+s.e.db.Dialect.NowMillis).Scan(&s.now); err != nil {
			return 0, fmt.Errorf("read the clock: %w", err)
		}
	}
	return s.now, nil
}

// idOf returns the stored id of the asset to which ref refers. It returns false for a pending
// handle, a null Oid and an unknown type.
func (s *Session) idOf(ref Ref) (int64, bool) {
	if ref.Handle != nil {
		return ref.Handle.ID, ref.Handle.Made
	}
	return storedID(s.e.model, ref.OID)
}

// valueID returns the stored id of the asset to which a relation's value refers. It returns false
// for names, and for aliases of assets that have not been created.
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

// typeOf returns the type of a command's asset before the asset is loaded, or nil if the type is
// unknown. The concrete type of the asset may be a subtype of the result.
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
