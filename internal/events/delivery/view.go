package delivery

import (
	"context"
	"encoding/json"

	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
)

// States are the names of the states of deliveries. The index is the number of the state.
var States = []string{waiting: "waiting", delivered: "delivered", exhausted: "exhausted", dropped: "dropped", setAside: "setAside"}

// View is a delivery as clients read it.
type View struct {
	ID          string `json:"id"`
	State       string `json:"state"`         // one of the names in States
	Why         string `json:"why,omitempty"` // why the delivery waits, see block.reason; empty: it does not wait
	Due         string `json:"due,omitempty"` // time of the next attempt; empty: unknown, or the delivery does not wait
	Test        bool   `json:"test,omitempty"`
	Events      int    `json:"events"`
	First       int64  `json:"firstSequenceId"`
	Last        int64  `json:"lastSequenceId"`
	Attempts    int    `json:"attempts"`
	LastStatus  int    `json:"lastStatus,omitempty"`
	LastError   string `json:"lastError,omitempty"`
	CommittedAt string `json:"committedAt"`
	Since       string `json:"since"` // time of the commit, or of the request to deliver again
	SettledAt   string `json:"settledAt,omitempty"`
}

// Sent is a delivery with the body of its request.
type Sent struct {
	View
	Request json.RawMessage `json:"request"`
}

// deliveryRow contains the columns of webhook_delivery that a View shows.
type deliveryRow struct {
	ID          string
	Kind        bool // true: a test
	Events      int
	FirstMoment int64
	LastMoment  int64
	Attempts    int
	Due         int64
	Lease       int64
	LastStatus  int
	LastError   string
	CommittedAt int64
	CreatedAt   int64 // time of the commit, or of the request to deliver again
	SettledAt   int64 // 0: the delivery waits
}

// TableName returns the name of the table of deliveries.
func (deliveryRow) TableName() string { return "webhook_delivery" }

func ofSubscription(id string) func(*gorm.DB) *gorm.DB {
	return func(g *gorm.DB) *gorm.DB { return g.Where("subscription_id = ?", id) }
}

// List returns a page of the deliveries of a subscription in one state, and the total number of
// these deliveries. Waiting deliveries are in the order of their due times. For other states, the
// newest deliveries come first. The page has at most size deliveries, and begins at the zero-based
// index start.
func (s *Store) List(ctx context.Context, tx *db.Tx, subscription string, state, size, start int) (views []View, total int64, err error) {
	b, err := s.blockOf(ctx, tx, subscription)
	if err != nil {
		return nil, 0, err
	}
	query := func() *gorm.DB {
		return tx.Gorm().Session(&gorm.Session{QueryFields: true}).Model(&deliveryRow{}).
			Where("state = ?", state).Scopes(ofSubscription(subscription))
	}
	if err := query().Count(&total).Error; err != nil {
		return nil, 0, err
	}
	order := "due DESC, id DESC"
	if state == waiting {
		order = "due, id"
	}
	views = []View{}
	var rows []deliveryRow
	err = query().Order(order).Limit(size).Offset(start).Find(&rows).Error
	for i := range rows {
		views = append(views, b.view(&rows[i], States[state]))
	}
	return views, total, err
}

// Find returns a delivery of any subscription, with its payload. It reserves memory for the payload
// from the context. The error has the kind fault.NotFound if the delivery does not exist.
func (s *Store) Find(ctx context.Context, tx *db.Tx, id string) (found Sent, err error) {
	var row deliveryRow
	var subscription string
	var state, size int64
	err = tx.QueryRow(ctx, "SELECT d.subscription_id, d.state, LENGTH(d.payload) + COALESCE(LENGTH(p.body) + d.events * LENGTH(d.head), 0) FROM webhook_delivery d"+
		payloadJoin+"WHERE d.id = ?", id).Scan(&subscription, &state, &size)
	if err != nil {
		return found, err
	}
	if err := memory.From(ctx).Take(2 * size); err != nil {
		return found, err
	}
	b, err := s.blockOf(ctx, tx, subscription)
	if err != nil {
		return found, err
	}
	if err := tx.Gorm().Session(&gorm.Session{QueryFields: true}).Take(&row, "id = ?", id).Error; err != nil {
		return found, err
	}
	found.View = b.view(&row, States[state])
	var own, head, shared []byte
	err = tx.QueryRow(ctx, "SELECT "+payloadColumns+" FROM webhook_delivery d"+payloadJoin+"WHERE d.id = ?", id).Scan(&own, &head, &shared)
	found.Request = payloadOf(own, head, shared)
	return found, err
}

// block contains the columns of a subscription that can make all its deliveries wait. Times are in
// UTC microseconds on the clock of the database.
type block struct {
	paused bool
	until  int64 // end of the backoff; a time in the past if there is no backoff
	now    int64
}

func (s *Store) blockOf(ctx context.Context, q db.Querier, subscription string) (b block, err error) {
	err = q.QueryRow(ctx, "SELECT paused, breaker_until, "+s.db.Dialect.NowMicros+" FROM webhook_subscription WHERE id = ?",
		subscription).Scan(&b.paused, &b.until, &b.now)
	return b, err
}

func (b block) view(r *deliveryRow, state string) View {
	v := View{
		ID: r.ID, State: state, Test: r.Kind, Events: r.Events, First: r.FirstMoment, Last: r.LastMoment, Attempts: r.Attempts,
		LastStatus: r.LastStatus, LastError: r.LastError, CommittedAt: Instant(r.CommittedAt), Since: Instant(r.CreatedAt),
	}
	if r.SettledAt != 0 {
		v.SettledAt = Instant(r.SettledAt)
		return v
	}
	if v.Why = b.reason(r); r.Due < db.Forever {
		v.Due = Instant(max(r.Due, b.until))
	}
	return v
}

// reason returns why a delivery waits. It returns the first of these reasons that applies:
//
//   - paused: the subscription is paused.
//   - sending: a sender has claimed the delivery.
//   - asset: an earlier delivery of its asset has not ended.
//   - retry: the next attempt is due later.
//   - resting: the circuit breaker is open.
//   - turn: other deliveries of the queue are sent first.
func (b block) reason(r *deliveryRow) string {
	switch {
	case b.paused:
		return "paused"
	case r.Lease > b.now:
		return "sending"
	case r.Due == db.Forever:
		return "asset"
	case r.Due > b.now:
		return "retry"
	case b.until > b.now:
		return "resting"
	default:
		return "turn"
	}
}

// Receipt describes one attempt, as clients read it.
// Spec: interface 2.7.
type Receipt struct {
	ID               string            `json:"id"`
	DeliveryID       string            `json:"deliveryId"`
	SubscriptionID   string            `json:"subscriptionId"`
	HasAuthorization bool              `json:"hasAuthorizationHeader"`
	URL              string            `json:"url"`
	Response         string            `json:"response,omitempty"`
	Headers          map[string]string `json:"headers"`
	Status           int               `json:"status"` // status of the answer; 0: no answer
	TimeStamp        string            `json:"timeStamp"`
	RetryCount       int               `json:"retryCount"`  // number of attempts before this attempt
	WasReceived      bool              `json:"wasReceived"` // true: there was an answer
	// AfterGivenUp is the id of the previous delivery of the same asset if that delivery ended
	// without success. It is set only for ordered subscriptions.
	AfterGivenUp string `json:"afterGivenUp,omitempty"`
}

// receiptRow is a row of webhook_receipt.
type receiptRow struct {
	ID, DeliveryID, SubscriptionID string
	HasAuthorization, WasReceived  bool
	URL, Response                  string
	Headers                        map[string]string `gorm:"serializer:json"`
	Status, RetryCount             int
	At                             int64
	GivenUp                        string
}

// TableName returns the name of the table of receipts.
func (receiptRow) TableName() string { return "webhook_receipt" }

// Receipts returns the last maxReceipts receipts of a subscription, newest first.
func (*Store) Receipts(tx *db.Tx, subscription string) ([]Receipt, error) {
	var rows []receiptRow
	err := tx.Gorm().Scopes(ofSubscription(subscription)).Order("at DESC, id DESC").Limit(maxReceipts).Find(&rows).Error
	receipts := make([]Receipt, len(rows))
	for i, r := range rows {
		receipts[i] = Receipt{
			ID: r.ID, DeliveryID: r.DeliveryID, SubscriptionID: r.SubscriptionID, HasAuthorization: r.HasAuthorization,
			URL: r.URL, Response: r.Response, Headers: r.Headers, Status: r.Status, TimeStamp: Instant(r.At),
			RetryCount: r.RetryCount, WasReceived: r.WasReceived, AfterGivenUp: r.GivenUp,
		}
		if r.Headers == nil {
			receipts[i].Headers = map[string]string{}
		}
	}
	return receipts, err
}

// Instant formats a time in UTC microseconds. It formats 0 as 0001-01-01T00:00:00Z.
func Instant(micros int64) string {
	if micros == 0 {
		return "0001-01-01T00:00:00Z"
	}
	return string(value.AppendInstant(nil, micros))
}
