package delivery

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/secret"
)

// The states of a row of webhook_delivery.
const (
	waiting   = 0
	delivered = 1
	exhausted = 2 // failed in every attempt
	dropped   = 3 // its subscription was disabled
	setAside  = 4 // it killed its senders
)

// Delivery is a row of webhook_delivery that is being made or sent.
type Delivery struct {
	ID           string
	Subscription string
	Audit        int64
	First, Last  int64 // moments
	Events       int
	Payload      []byte
	Committed    int64 // time of its newest change

	created  int64
	claims   int
	attempts int  // before this one
	sent     bool // or being sent; belongs to lanes.mu
}

// NewID returns the id of a delivery or receipt: ids made later sort behind.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Subscriptions is what deliveries ask of those who keep subscriptions.
type Subscriptions interface {
	// Failed tells that a delivery ended badly: the receiver wants no more
	// (gone), or every attempt failed.
	Failed(ctx context.Context, subscription string, gone bool) error
}

// Config is what a Store needs besides the database.
type Config struct {
	Subscriptions Subscriptions
	Box           *secret.Box   // opens authorization headers and signing secrets
	Keep          time.Duration // how long a settled delivery can be sent again
	Log           *slog.Logger
	Metrics       Registerer // may be nil
}

// Store keeps deliveries and receipts.
type Store struct {
	db            *db.DB
	subscriptions Subscriptions
	box           *secret.Box
	keep          time.Duration
	log           *slog.Logger
	metrics       *metrics
}

// New returns a store on d.
func New(d *db.DB, c Config) *Store {
	return &Store{
		db: d, subscriptions: c.Subscriptions, box: c.Box, keep: c.Keep, log: c.Log, metrics: newMetrics(c.Metrics),
	}
}

// DropWaiting gives up what waits for a subscription.
func (s *Store) DropWaiting(ctx context.Context, tx *db.Tx, subscription string) error {
	now := s.db.Dialect.NowMicros
	_, err := tx.Exec(ctx, `UPDATE webhook_delivery SET state = 3, due = `+now+` + ?, settled_at = `+now+`,
		owner = NULL, lease = 0 WHERE subscription_id = ? AND state = 0`, s.keep.Microseconds(), subscription)
	return err
}

// each calls f with the only column of every row and closes them.
func each[T any](rows *db.Rows, f func(T)) error {
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return err
		}
		f(v)
	}
	return rows.Err()
}

// Now reads the database's time. Units: UTC microseconds.
func (s *Store) Now(ctx context.Context, q db.Querier) (now int64, err error) {
	err = q.QueryRow(ctx, "SELECT "+s.db.Dialect.NowMicros).Scan(&now)
	return now, err
}

// micros turns the database's time into Go's.
func micros(at int64) time.Time { return time.UnixMicro(at) }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
