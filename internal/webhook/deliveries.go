package webhook

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/delivery"
	"github.com/alds-dev/alds/internal/doc"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

// Status returns the newest receipts of a subscription, newest first.
// Errors: fault.Denied, fault.NotFound.
// Spec: interface 2.7, 4.4.
func (s *Service) Status(ctx context.Context, who auth.Actor, id string) ([]Receipt, error) {
	if !who.Admin {
		return nil, errNotAdmin()
	}
	var receipts []Receipt
	err := s.db.Read(ctx, func(tx *db.Tx) error {
		receipts = []Receipt{}
		if _, err := findRecord(ctx, tx, id, ""); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT id, delivery_id, subscription_id, has_authorization, url, response,
			headers, status, at, retry_count, was_received FROM webhook_receipt
			WHERE subscription_id = ? ORDER BY at DESC, id DESC LIMIT ?`, id, delivery.KeepReceipts)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanReceipt(rows)
			if err != nil {
				return err
			}
			receipts = append(receipts, r)
		}
		return rows.Err()
	})
	return receipts, err
}

func scanReceipt(rows *db.Rows) (Receipt, error) {
	r := Receipt{Headers: map[string]string{}}
	var response, headers sql.NullString
	var at int64
	err := rows.Scan(&r.ID, &r.DeliveryID, &r.SubscriptionID, &r.HasAuthorization, &r.URL, &response,
		&headers, &r.Status, &at, &r.RetryCount, &r.WasReceived)
	if err != nil {
		return r, err
	}
	r.Response, r.TimeStamp = response.String, instant(at)
	if headers.String != "" {
		err = json.Unmarshal([]byte(headers.String), &r.Headers)
	}
	return r, err
}

// Test sends one event that is marked as a test and tells of the member who
// asked. It takes the way of every other delivery: a paused subscription keeps
// it, and it leaves a receipt.
// Errors: fault.Denied, fault.NotFound, fault.Invalid for a disabled one.
func (s *Service) Test(ctx context.Context, who auth.Actor, id string) (Queued, error) {
	if !who.Admin {
		return Queued{}, errNotAdmin()
	}
	p := &printer{public: s.public, types: map[int64]*meta.Type{}, members: map[int64][]byte{who.Member: []byte("null")}}
	if t, ok := s.model.Type("Member"); ok {
		if err := s.instigatorsOf(ctx, p, t, []int64{who.Member}); err != nil {
			return Queued{}, err
		}
	}
	d := &delivery.Delivery{ID: delivery.NewID(), Subscription: id, Events: 1}
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		r, err := findEnabled(ctx, tx, id, s.db.Dialect.ForUpdate)
		if err != nil {
			return err
		}
		now, err := clock(ctx, tx, s.db.Dialect)
		if err != nil {
			return err
		}
		member, err := oid.Parse(s.member(who.Member))
		if err != nil {
			return err
		}
		d.Payload = append(p.test([]byte(`{"events":[`), r.webhookID, member, who.Member, now), "]}"...)
		return s.deliveries.PutTest(ctx, tx, d)
	})
	if err != nil {
		return Queued{}, err
	}
	return Queued{Deliveries: 1, DeliveryID: d.ID}, nil
}

// findEnabled reads a subscription that something can be sent to.
func findEnabled(ctx context.Context, q db.Querier, id, lock string) (record, error) {
	r, err := findRecord(ctx, q, id, lock)
	if err == nil && !r.enabled {
		err = errDisabled()
	}
	return r, err
}

// Redeliver sends deliveries again, whatever became of them before: the one the
// body names, the one a receipt is of, or those of a time range.
//
// Shape: {delivery} or {receipt} or {since, until}; until may be left out.
// Errors: fault.Denied, fault.NotFound, fault.Invalid.
// Spec: compat 9.24.
func (s *Service) Redeliver(ctx context.Context, who auth.Actor, id string, body []byte) (Queued, error) {
	if !who.Admin {
		return Queued{}, errNotAdmin()
	}
	n, err := parseBody(body)
	if err != nil {
		return Queued{}, err
	}
	which, err := whichOf(n)
	if err != nil {
		return Queued{}, err
	}
	if _, err := findEnabled(ctx, s.db, id, ""); err != nil {
		return Queued{}, err
	}
	count, err := s.deliveries.Again(ctx, id, which)
	return Queued{Deliveries: int64(count), DeliveryID: which.Delivery}, err
}

func whichOf(n *doc.Node) (delivery.Which, error) {
	var w delivery.Which
	for i, key := range n.Keys {
		v := &n.Items[i]
		var err error
		switch key {
		case "delivery":
			err = uuidOf(v, key, &w.Delivery)
		case "receipt":
			err = uuidOf(v, key, &w.Receipt)
		case "since":
			err = instantOf(v, key, &w.Since)
		case "until":
			err = instantOf(v, key, &w.Until)
		default:
			err = errUnknownKey(v.At, key)
		}
		if err != nil {
			return w, err
		}
	}
	named := 0
	for _, is := range []bool{w.Delivery != "", w.Receipt != "", w.Since != 0} {
		named += bit(is)
	}
	switch {
	case named != 1 || w.Until != 0 && w.Since == 0:
		return w, errWhich()
	case w.Since != 0 && w.Until == 0:
		w.Until = db.Forever
	case w.Since > w.Until:
		return w, errRange()
	}
	return w, nil
}

func uuidOf(v *doc.Node, key string, to *string) error {
	id, err := uuid.Parse(v.Text)
	if v.Kind != doc.String || err != nil {
		return errWants(v.At, key, "the id of one")
	}
	*to = id.String()
	return nil
}

func instantOf(v *doc.Node, key string, to *int64) error {
	at, err := time.Parse(time.RFC3339Nano, v.Text)
	if v.Kind != doc.String || err != nil || at.UnixMicro() <= 0 {
		return errInstant(v.At, key)
	}
	*to = at.UnixMicro()
	return nil
}

// Deliveries returns one page of a subscription's deliveries in a state, by
// default of those that wait, and says why they do.
// Errors: fault.Denied, fault.NotFound, fault.Invalid.
func (s *Service) Deliveries(ctx context.Context, who auth.Actor, id, state, page string) (DeliveryList, error) {
	l := DeliveryList{Type: "WebhookDelivery", Results: []Delivery{}}
	if !who.Admin {
		return l, errNotAdmin()
	}
	if state == "" {
		state = delivery.States[0]
	}
	number := slices.Index(delivery.States, state)
	if number < 0 {
		return l, errState(state, delivery.States)
	}
	var err error
	if l.PageSize, l.PageStart, err = pageOf(page); err != nil {
		return l, err
	}
	err = s.db.Read(ctx, func(tx *db.Tx) error {
		l.Results = []Delivery{}
		if _, err := findRecord(ctx, tx, id, ""); err != nil {
			return err
		}
		held, err := s.deliveries.Held(ctx, tx, id)
		if err != nil {
			return err
		}
		var rows []delivery.Row
		rows, l.Total, err = delivery.List(ctx, tx, s.db.Dialect, id, number, l.PageSize, l.PageStart)
		for i := range rows {
			l.Results = append(l.Results, shownDelivery(&rows[i], held))
		}
		return err
	})
	return l, err
}

func shownDelivery(r *delivery.Row, held delivery.Held) Delivery {
	d := Delivery{
		ID: r.ID, State: r.State, Test: r.Test, Events: r.Events, First: r.First, Last: r.Last, Attempts: r.Attempts,
		LastStatus: r.Status, LastError: r.Error, CommittedAt: instant(r.Committed),
	}
	if r.Settled != 0 {
		d.SettledAt = instant(r.Settled)
		return d
	}
	due := max(r.Due, held.Until)
	d.Why, d.Due = reason(r, held), instant(due)
	return d
}

// reason is why a delivery waits: "sending" (a worker has it), "paused" (the
// subscription is), "resting" (the receiver failed or asked for a pause),
// "retry" (its next attempt has a time), "turn" (nothing but its turn).
func reason(r *delivery.Row, held delivery.Held) string {
	switch {
	case held.Paused:
		return "paused"
	case r.Sending:
		return "sending"
	case r.Due > held.Now:
		return "retry"
	case held.Until > held.Now:
		return "resting"
	default:
		return "turn"
	}
}
