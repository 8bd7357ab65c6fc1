package webhook

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// Status returns the newest receipts of a subscription, newest first. The error has the kind
// fault.Denied if the actor is not an administrator, and fault.NotFound if the subscription does
// not exist.
// Spec: interface 2.7, 4.4.
func (s *Service) Status(ctx context.Context, who auth.Actor, id string) (receipts []Receipt, err error) {
	if !who.Admin {
		return nil, errNotAdmin()
	}
	err = s.db.Read(ctx, func(tx *db.Tx) error {
		if _, err := findRow(tx.Gorm(), id); err != nil {
			return err
		}
		receipts, err = s.deliveries.Receipts(tx, id)
		return err
	})
	return receipts, err
}

// Test queues a test event for a subscription. The target asset of the event is the member who
// calls Test. The delivery is treated like any other delivery: it waits while the subscription is
// paused, and it gets a receipt. The error has the kind fault.Denied if the actor is not an
// administrator, fault.NotFound if the subscription does not exist, and fault.Invalid if it is
// disabled.
func (s *Service) Test(ctx context.Context, who auth.Actor, id string) (Queued, error) {
	if !who.Admin {
		return Queued{}, errNotAdmin()
	}
	p, err := s.events.PrinterFor(ctx, who.Member)
	if err != nil {
		return Queued{}, err
	}
	d := &delivery.Delivery{ID: delivery.NewID(), Subscription: id, Events: 1}
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		r, err := findEnabled(tx.Gorm(), id) // this read also checks the form of the id before the lock
		if err == nil {
			_, err = tx.Lock(ctx, "webhook_subscription", "id = ?", id)
		}
		if err == nil {
			r, err = findEnabled(tx.Gorm(), id) // read again, because the row could change before the lock
		}
		if err != nil {
			return err
		}
		now, err := s.deliveries.Now(ctx, tx)
		if err != nil {
			return err
		}
		member, err := oid.Parse(s.member(who.Member))
		if err != nil {
			return err
		}
		d.Payload = append(p.Test([]byte(`{"events":[`), r.WebhookID, member, who.Member, now), "]}"...)
		return s.deliveries.InsertTest(ctx, tx, d)
	})
	if err != nil {
		return Queued{}, err
	}
	return Queued{Deliveries: 1, DeliveryID: d.ID}, nil
}

// findEnabled reads a subscription. The error has the kind fault.NotFound if the subscription does
// not exist, and fault.Invalid if it is disabled.
func findEnabled(g *gorm.DB, id string) (subscriptionRow, error) {
	r, err := findRow(g, id)
	if err == nil && !r.Enabled {
		err = errDisabled()
	}
	return r, err
}

// Redeliver queues deliveries again. The body selects one delivery by its id, one delivery by the
// id of a receipt, or all deliveries of a time range. The body is an object with the key delivery,
// with the key receipt, or with the keys since and until. until is optional.
//
// The error has the kind fault.Denied if the actor is not an administrator. It has the kind
// fault.NotFound if the subscription, the delivery or the receipt does not exist. It has the kind
// fault.Invalid for an invalid body or a disabled subscription.
// Spec: interface 4.4.
func (s *Service) Redeliver(ctx context.Context, who auth.Actor, id string, body []byte) (Queued, error) {
	if !who.Admin {
		return Queued{}, errNotAdmin()
	}
	n, err := parseBody(body)
	if err != nil {
		return Queued{}, err
	}
	selected, err := selectionOf(n)
	if err != nil {
		return Queued{}, err
	}
	if _, err := findEnabled(s.db.Gorm(ctx), id); err != nil {
		return Queued{}, err
	}
	count, err := s.deliveries.Redeliver(ctx, id, selected)
	return Queued{Deliveries: int64(count), DeliveryID: selected.Delivery}, err
}

func selectionOf(n *document.Node) (delivery.Selection, error) {
	var w delivery.Selection
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
		if is {
			named++
		}
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

func uuidOf(v *document.Node, key string, to *string) error {
	id, err := uuid.Parse(v.Text)
	if v.Kind != document.String || err != nil {
		return errWants(v.At, key, "the id of one")
	}
	*to = id.String()
	return nil
}

func instantOf(v *document.Node, key string, to *int64) error {
	at, err := time.Parse(time.RFC3339Nano, v.Text)
	if v.Kind != document.String || err != nil || at.UnixMicro() <= 0 {
		return errInstant(v.At, key)
	}
	*to = at.UnixMicro()
	return nil
}

// Deliveries returns one page of the deliveries of a subscription in one state. The error has the
// kind fault.Denied if the actor is not an administrator, fault.NotFound if the subscription does
// not exist, and fault.Invalid for an invalid query.
func (s *Service) Deliveries(ctx context.Context, who auth.Actor, id string, q DeliveryQuery) (DeliveryList, error) {
	l := DeliveryList{Type: "WebhookDelivery"}
	if !who.Admin {
		return l, errNotAdmin()
	}
	if q.State == "" {
		q.State = delivery.States[0]
	}
	state := slices.Index(delivery.States, q.State)
	if state < 0 {
		return l, errState(q.State, delivery.States)
	}
	var err error
	if l.PageSize, l.PageStart, err = pageOf(q.Page); err != nil {
		return l, err
	}
	err = s.db.Read(ctx, func(tx *db.Tx) error {
		if _, err := findRow(tx.Gorm(), id); err != nil {
			return err
		}
		l.Results, l.Total, err = s.deliveries.List(ctx, tx, id, state, l.PageSize, l.PageStart)
		return err
	})
	return l, err
}

// Delivery returns one delivery with the body of its request. The error has the kind fault.Denied
// if the actor is not an administrator, and fault.NotFound if the delivery does not exist or its
// subscription is deleted.
// Spec: interface 4.4.5.
func (s *Service) Delivery(ctx context.Context, who auth.Actor, id string) (found delivery.Sent, err error) {
	if !who.Admin {
		return found, errNotAdmin()
	}
	if uuid.Validate(id) != nil {
		return found, errNoSubscription()
	}
	err = s.db.Read(ctx, func(tx *db.Tx) error {
		found, err = s.deliveries.Find(ctx, tx, id)
		return err
	})
	if fault.KindOf(err) == fault.NotFound {
		err = errNoSubscription()
	}
	return found, err
}
