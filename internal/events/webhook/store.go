package webhook

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/store/db"
)

// subscriptionRow is a row of webhook_subscription, without the counters of package delivery. Times
// are in UTC microseconds.
type subscriptionRow struct {
	ID              string `gorm:"primaryKey"`
	WebhookID       string
	URL             string
	Authorization   optional // sealed (encrypted)
	Secret          optional // sealed
	PreviousSecret  optional // sealed
	PreviousUntil   int64
	Description     string
	Enabled         bool
	Paused          bool
	MaxBatch        int          // 0: maxEvents
	Ordered         bool         // true: the events of each asset are sent in order
	EventTypes      []Definition `gorm:"serializer:json"`
	DisabledReason  optional
	RetryCount      int64 `gorm:"<-:create"`
	LastResponseAt  int64 `gorm:"<-:create"` // 0: there was no answer yet
	CreatedAt       int64 `gorm:"<-:create;autoCreateTime:false"`
	UpdatedAt       int64 `gorm:"autoUpdateTime:false"`
	CreatedBy       int64 `gorm:"<-:create"` // stored id of the member who created the subscription
	SinceGeneration int64 // writes of an earlier generation do not match
	Generation      int64 // generation of the last write of the row

	newSecret string   // secret that this request has generated; only the answer of this request shows it
	rotation  rotation // the change of the secrets by this request
}

// TableName returns the name of the table of subscriptions.
func (subscriptionRow) TableName() string { return "webhook_subscription" }

// optional is a text. An empty text is stored as NULL.
type optional string

// Scan reads NULL as an empty text.
func (o *optional) Scan(v any) error {
	var s sql.NullString
	err := s.Scan(v)
	*o = optional(s.String)
	return err
}

// Value writes an empty text as NULL.
func (o optional) Value() (driver.Value, error) {
	return sql.NullString{String: string(o), Valid: o != ""}.Value()
}

// subscriptions selects rows of webhook_subscription.
func subscriptions(g *gorm.DB, scopes ...func(*gorm.DB) *gorm.DB) *gorm.DB {
	return g.Session(&gorm.Session{QueryFields: true}).Model(&subscriptionRow{}).Scopes(scopes...)
}

func enabled(g *gorm.DB) *gorm.DB { return g.Where("enabled = 1") }

func forUpdate(g *gorm.DB) *gorm.DB { return g.Clauses(clause.Locking{Strength: "UPDATE"}) }

// findRow reads one subscription. It checks the form of the id first, because database servers
// return an error when they compare an id with a text that is not ASCII. The error has the kind
// fault.NotFound if the subscription does not exist.
func findRow(g *gorm.DB, id string, scopes ...func(*gorm.DB) *gorm.DB) (r subscriptionRow, err error) {
	if uuid.Validate(id) != nil {
		return r, errNoSubscription()
	}
	err = subscriptions(g, scopes...).Take(&r, "id = ?", id).Error
	if fault.KindOf(err) == fault.NotFound {
		err = errNoSubscription()
	}
	return r, err
}

// bumpGeneration raises the generation of subscriptions and returns the new value. When it returns,
// all writes that have read a lower value are committed. Later writes wait until this transaction
// ends, and then read the new value.
func bumpGeneration(ctx context.Context, tx *db.Tx) (int64, error) {
	if err := catalog.LockWrites(ctx, tx); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, "UPDATE sequence SET value = value + 1 WHERE name = 'webhook'"); err != nil {
		return 0, err
	}
	return generation(ctx, tx)
}

// generation reads the generation of subscriptions. Every write of a subscription, and every change
// of the model, raises the generation.
func generation(ctx context.Context, q db.Querier) (int64, error) {
	var n int64
	err := q.QueryRow(ctx, "SELECT value FROM sequence WHERE name = 'webhook'").Scan(&n)
	return n, err
}
