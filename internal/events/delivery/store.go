package delivery

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/store/db"
)

// The values of the column state of webhook_delivery.
const (
	waiting   = 0
	delivered = 1
	exhausted = 2 // every attempt failed
	dropped   = 3 // the subscription was disabled or deleted
	setAside  = 4 // it had lease.MaxClaims claims that did not end, or its payload could not be created
)

// Delivery is a row of webhook_delivery that is inserted or sent.
type Delivery struct {
	ID           string
	Subscription string
	Audit        int64
	Asset        int64  // stored id of the asset of its event if the subscription is ordered; otherwise 0
	Write        string // id of the write of its first event; empty: a test
	Trace        string // traceparent of the write; empty: the write is not traced
	First, Last  int64  // first and last moment
	Events       int
	Payload      []byte
	Shared       *Payload // used instead of Payload; nil: Payload is used
	Head         []byte   // replaces the HeadMark of each event in Shared
	Committed    int64    // commit time of its newest change, in UTC microseconds
	SetAside     string   // why the delivery is never sent; empty: it is sent
	// Since is the generation of subscriptions at which the subscription was enabled. It is read
	// when the delivery is made, and again when it is claimed.
	Since int64

	since    int64  // column created_at: time of the commit, or of the request to deliver again; UTC microseconds
	attempts int    // number of attempts before this claim
	unended  int    // number of earlier claims that did not end
	after    string // id of the previous delivery of the asset if that delivery ended without success; otherwise empty
	fresh    bool   // true: never sent before, so it may be merged with others
	owner    string // owner of this claim; no other claim has the same owner

	// queues.mu guards these fields.
	queue  *queue    // the queue to which the delivery was added
	sent   bool      // true: popped to be sent, and its result is not stored yet
	leased time.Time // the lease began at this time or later, on the clock of this process
}

// NewID returns a new id of a delivery or receipt. Later ids sort after earlier ids.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Subscriptions disables subscriptions whose receivers fail.
type Subscriptions interface {
	// DeliveryFailed is called after the last attempt of a delivery has failed, or after the
	// receiver has answered 410. The result is already stored. write is the id of the write to
	// which the delivery belongs.
	DeliveryFailed(ctx context.Context, subscription, write string) error
}

// Config configures a Store. All fields except Metrics are required.
type Config struct {
	Subscriptions Subscriptions
	Box           *secret.Box   // decrypts authorization headers and signing secrets
	Retention     time.Duration // how long an ended delivery is stored; until then it can be sent again
	Log           *slog.Logger
	Metrics       Registerer // nil: the metrics are not registered
}

// Store reads and writes deliveries and receipts.
type Store struct {
	db            *db.DB
	subscriptions Subscriptions
	box           *secret.Box
	retention     time.Duration
	log           *slog.Logger
	metrics       *metrics
}

// New returns a store of the database d.
func New(d *db.DB, c Config) *Store {
	return &Store{
		db: d, subscriptions: c.Subscriptions, box: c.Box, retention: c.Retention, log: c.Log, metrics: newMetrics(c.Metrics),
	}
}

// DropWaiting sets the waiting deliveries of a subscription to the state dropped.
func (s *Store) DropWaiting(ctx context.Context, tx *db.Tx, subscription string) error {
	now := s.db.Dialect.NowMicros
	_, err := tx.Exec(ctx, `UPDATE webhook_delivery SET state = 3, due = `+now+` + ?, settled_at = `+now+`,
		owner = NULL, lease = 0, asset_id = NULL WHERE subscription_id = ? AND state = 0`, s.retention.Microseconds(), subscription)
	return err
}

// Now returns the current time of the database in UTC microseconds.
func (s *Store) Now(ctx context.Context, q db.Querier) (now int64, err error) {
	err = q.QueryRow(ctx, "SELECT "+s.db.Dialect.NowMicros).Scan(&now)
	return now, err
}
