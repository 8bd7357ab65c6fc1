package delivery

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/store/db"
)

// The states of a row of webhook_delivery.
const (
	waiting   = 0
	delivered = 1
	exhausted = 2 // failed in every attempt
	dropped   = 3 // its subscription was disabled
	setAside  = 4 // claimed too often without an end, or it could not be made
)

// Delivery is a row of webhook_delivery that is being inserted or sent.
type Delivery struct {
	ID           string
	Subscription string
	Audit        int64
	Asset        int64  // stored id, of an ordered subscription: the event is of this one. 0 otherwise
	Write        string // id of the write of its first event; empty for a test
	Trace        string // traceparent of that write; empty: it is not traced
	First, Last  int64  // moments
	Events       int
	Payload      []byte
	Shared       *Payload // in the place of Payload
	Head         []byte   // of each event, with Shared
	Committed    int64    // time of its newest change; UTC microseconds
	SetAside     string   // why it is not sent; empty: it is
	Since        int64    // generation since which its subscription was enabled when it was made or claimed

	since    int64  // from when on it is awaited: the commit, or the request to deliver it again; column created_at
	attempts int    // before this one
	unended  int    // its claims before this one that had no end
	after    string // id of the delivery of its asset before it, which was given up; empty: none was
	fresh    bool   // it was never sent, so that it may be merged with others
	owner    string // of this claim only

	// They belong to queues.mu.
	queue  *queue    // that it was added to
	sent   bool      // or about to be sent; its result is not stored yet
	leased time.Time // not later than its lease began
}

// NewID returns the id of a delivery or receipt. Later ids sort after earlier ones.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Subscriptions disables subscriptions.
type Subscriptions interface {
	// DeliveryFailed is called after the last attempt of a delivery failed, or after
	// the receiver asked for no more deliveries, both of which are stored by then.
	// write is the id of the write that was delivered.
	DeliveryFailed(ctx context.Context, subscription, write string) error
}

// Config is what a Store needs besides the database.
type Config struct {
	Subscriptions Subscriptions
	Box           *secret.Box   // opens authorization headers and signing secrets
	Retention     time.Duration // how long a settled delivery can be sent again
	Log           *slog.Logger
	Metrics       Registerer // may be nil
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

// New returns a store on d.
func New(d *db.DB, c Config) *Store {
	return &Store{
		db: d, subscriptions: c.Subscriptions, box: c.Box, retention: c.Retention, log: c.Log, metrics: newMetrics(c.Metrics),
	}
}

// DropWaiting drops the waiting deliveries of a subscription.
func (s *Store) DropWaiting(ctx context.Context, tx *db.Tx, subscription string) error {
	now := s.db.Dialect.NowMicros
	_, err := tx.Exec(ctx, `UPDATE webhook_delivery SET state = 3, due = `+now+` + ?, settled_at = `+now+`,
		owner = NULL, lease = 0, asset_id = NULL WHERE subscription_id = ? AND state = 0`, s.retention.Microseconds(), subscription)
	return err
}

// Now reads the database's time. Units: UTC microseconds.
func (s *Store) Now(ctx context.Context, q db.Querier) (now int64, err error) {
	err = q.QueryRow(ctx, "SELECT "+s.db.Dialect.NowMicros).Scan(&now)
	return now, err
}
