package webhook

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// Options are the options of New.
type Options struct {
	Find event.Finder
	// Present returns a service of the current model, which was created by With. Workers call it
	// when they read the subscriptions. It is nil if the model never changes.
	Present    func(context.Context) (*Service, error)
	Actors     event.Actors
	Box        *secret.Box // seals (encrypts) authorization headers and signing secrets
	Public     string      // public base URL of alds, without a slash at the end
	MaxEnabled int         // maximum number of enabled subscriptions; 0: no limit
	// DisableAfter is a number of deliveries in a row for which all attempts failed. After this
	// number of such deliveries, a subscription is disabled. 0 means 5.
	DisableAfter int
	// Retention is how long an ended delivery can be sent again. 0 means 72 hours.
	Retention time.Duration
	Log       *slog.Logger
	Metrics   Registerer // nil: the metrics are not registered
}

// Service manages subscriptions and creates workers.
type Service struct {
	db         *db.DB
	model      *meta.Model
	events     *event.Engine
	present    func(context.Context) (*Service, error)
	actors     event.Actors
	box        *secret.Box
	maxEnabled int
	failures   int // the option DisableAfter
	deliveries *delivery.Store
	log        *slog.Logger
	metrics    *metrics
}

// New returns a service for the database d and the model m.
func New(d *db.DB, m *meta.Model, o Options) *Service {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		db: d, model: m, events: event.New(d, m, o.Find, o.Public), present: o.Present, actors: o.Actors, box: o.Box,
		maxEnabled: o.MaxEnabled, failures: cmp.Or(o.DisableAfter, 5), log: log, metrics: newMetrics(o.Metrics),
	}
	s.deliveries = delivery.New(d, delivery.Config{Subscriptions: s, Box: o.Box, Retention: cmp.Or(o.Retention, 72*time.Hour), Log: log, Metrics: o.Metrics})
	return s
}

// With returns a service that uses another model. It reads the assets of this model with f. It
// shares everything else with s.
func (s *Service) With(m *meta.Model, f event.Finder) *Service {
	other := *s
	other.model, other.events = m, s.events.With(m, f)
	return &other
}

// Create creates a subscription. The subscription matches only changes that are committed after the
// transaction of Create. The error has the kind fault.Invalid, with the place in the body, or
// fault.Denied if the actor is not an administrator.
// Spec: interface 4.4, 6.2.8.
func (s *Service) Create(ctx context.Context, who auth.Actor, body []byte) (Subscription, error) {
	if !who.Admin {
		return Subscription{}, errNotAdmin()
	}
	n, err := parseBody(body)
	if err != nil {
		return Subscription{}, err
	}
	r := subscriptionRow{ID: uuid.NewString(), Enabled: true, CreatedBy: who.Member}
	if err := s.begin(&r, n, "url", "eventTypes"); err != nil {
		return Subscription{}, err
	}
	if r.WebhookID == "" {
		r.WebhookID = r.ID
	}
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if err := s.checkMembers(ctx, tx, n); err != nil {
			return err
		}
		if err := s.stamp(ctx, tx, &r); err != nil {
			return err
		}
		r.CreatedAt, r.SinceGeneration = r.UpdatedAt, r.Generation
		r.rotate()
		if err := s.checkEnabled(tx, &r); err != nil {
			return err
		}
		if err := tx.Gorm().Create(&r).Error; err != nil {
			return err
		}
		return trail.Record(ctx, tx, r.event(trail.SubscriptionCreated, who, keysOf(n)...))
	})
	return s.view(&r), err
}

// begin sets the fields of a new subscription from the body. The error has the kind fault.Invalid
// if the body is invalid or a required key is missing.
func (s *Service) begin(r *subscriptionRow, n *document.Node, required ...string) error {
	for _, key := range required {
		if v, ok := n.Get(key); !ok || v.Kind == document.Null {
			return errMissing(key)
		}
	}
	return s.apply(r, n)
}

// stamp raises the generation, and stores the new value in r.Generation. It sets r.UpdatedAt to the
// time of the database.
func (s *Service) stamp(ctx context.Context, tx *db.Tx, r *subscriptionRow) (err error) {
	if r.Generation, err = bumpGeneration(ctx, tx); err != nil {
		return err
	}
	r.UpdatedAt, err = s.deliveries.Now(ctx, tx)
	return err
}

// checkEnabled checks the maximum number of enabled subscriptions. The caller must have locked the
// generation. So no other transaction can enable a subscription at the same time.
func (s *Service) checkEnabled(tx *db.Tx, r *subscriptionRow) error {
	if !r.Enabled || s.maxEnabled == 0 {
		return nil
	}
	var others int64
	err := subscriptions(tx.Gorm(), enabled).Where("id <> ?", r.ID).Count(&others).Error
	if err == nil && others >= int64(s.maxEnabled) {
		err = errTooManyEnabled(s.maxEnabled)
	}
	return err
}

// Update changes the keys that the body contains. null clears a value. If a subscription is
// disabled, its waiting deliveries are dropped; if it is paused, they are kept. If it is enabled or
// its URL changes, its counters of failures are reset. The error has the kind fault.Invalid, with
// the place in the body, fault.Denied if the actor is not an administrator, or fault.NotFound.
// Spec: interface 4.4.2.
func (s *Service) Update(ctx context.Context, who auth.Actor, id string, body []byte) (Subscription, error) {
	if !who.Admin {
		return Subscription{}, errNotAdmin()
	}
	n, err := parseBody(body)
	if err != nil {
		return Subscription{}, err
	}
	var r subscriptionRow
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		gen, err := bumpGeneration(ctx, tx) // locks the generation; this must happen before the row is locked
		if err != nil {
			return err
		}
		if r, err = findRow(tx.Gorm(), id, forUpdate); err != nil {
			return err
		}
		was := r
		if err := s.apply(&r, n); err != nil {
			return err
		}
		if err := s.checkMembers(ctx, tx, n); err != nil {
			return err
		}
		if r.Generation = gen; r.WebhookID == "" {
			r.WebhookID = r.ID
		}
		if r.UpdatedAt, err = s.deliveries.Now(ctx, tx); err != nil {
			return err
		}
		r.rotate()
		if err := s.write(ctx, tx, &r, &was); err != nil {
			return err
		}
		if was.Ordered && !r.Ordered {
			if err := s.deliveries.EndOrder(ctx, tx, r.ID); err != nil {
				return err
			}
		}
		return trail.Record(ctx, tx, r.event(trail.SubscriptionChanged, who, keysOf(n)...))
	})
	return s.view(&r), err
}

// write stores an updated subscription. was is the subscription before the update.
func (s *Service) write(ctx context.Context, tx *db.Tx, r, was *subscriptionRow) error {
	if err := s.checkEnabled(tx, r); err != nil {
		return err
	}
	if r.Enabled && !was.Enabled {
		r.SinceGeneration, r.DisabledReason = r.Generation, ""
	}
	if r.Enabled && !was.Enabled || r.URL != was.URL {
		if err := resetFailures(ctx, tx, r.ID); err != nil {
			return err
		}
	}
	if !r.Enabled && was.Enabled {
		if err := s.deliveries.DropWaiting(ctx, tx, r.ID); err != nil {
			return err
		}
	}
	return tx.Gorm().Select("*").Updates(r).Error
}

// resetFailures resets the counters of failures of a subscription, and closes its circuit breaker.
func resetFailures(ctx context.Context, tx *db.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE webhook_subscription SET exhausted_in_row = 0, failures_in_row = 0, gone = 0,
		breaker_state = 0, breaker_until = 0 WHERE id = ?`, id)
	return err
}

// Delete deletes a subscription and drops its waiting deliveries. It returns the deleted
// subscription. The error has the kind fault.Denied if the actor is not an administrator, or
// fault.NotFound.
func (s *Service) Delete(ctx context.Context, who auth.Actor, id string) (Subscription, error) {
	if !who.Admin {
		return Subscription{}, errNotAdmin()
	}
	var r subscriptionRow
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if _, err := bumpGeneration(ctx, tx); err != nil {
			return err
		}
		var err error
		if r, err = findRow(tx.Gorm(), id, forUpdate); err != nil {
			return err
		}
		if err := tx.Gorm().Delete(&r).Error; err != nil {
			return err
		}
		if err := s.deliveries.DropWaiting(ctx, tx, r.ID); err != nil {
			return err
		}
		return trail.Record(ctx, tx, r.event(trail.SubscriptionDeleted, who))
	})
	return s.view(&r), err
}

// pageSize is the default size of a page. Spec: interface 8.
const pageSize = 25

// pageOf parses "size,start". start may be missing. An empty text means the first page with the
// default size.
func pageOf(page string) (size, start int, err error) {
	if page == "" {
		return pageSize, 0, nil
	}
	first, second, both := strings.Cut(page, ",")
	size, err = strconv.Atoi(strings.TrimSpace(first))
	if err == nil && both {
		start, err = strconv.Atoi(strings.TrimSpace(second))
	}
	if err != nil || size < 0 || start < 0 {
		return 0, 0, errPage(page)
	}
	return size, start, nil
}

// List returns one page of subscriptions, oldest first. page is "size,start" or empty. The error
// has the kind fault.Invalid for an invalid page, or fault.Denied if the actor is not an
// administrator.
// Spec: interface 4.4.
func (s *Service) List(ctx context.Context, who auth.Actor, page string) (List, error) {
	l := List{PageSize: pageSize, Type: "WebhookSubscription", Results: []Subscription{}}
	if !who.Admin {
		return l, errNotAdmin()
	}
	var err error
	if l.PageSize, l.PageStart, err = pageOf(page); err != nil {
		return l, err
	}
	err = s.db.Read(ctx, func(tx *db.Tx) error {
		l.Results = []Subscription{}
		if err := subscriptions(tx.Gorm()).Count(&l.Total).Error; err != nil {
			return err
		}
		var all []subscriptionRow
		err := subscriptions(tx.Gorm()).Order("created_at, id").Limit(l.PageSize).Offset(l.PageStart).Find(&all).Error
		if err != nil {
			return err
		}
		l.Results, err = s.read(ctx, tx, all)
		return err
	})
	return l, err
}

// Subscription returns one subscription. The error has the kind fault.Denied if the actor is not an
// administrator, or fault.NotFound.
// Spec: interface 4.4.
func (s *Service) Subscription(ctx context.Context, who auth.Actor, id string) (found Subscription, err error) {
	if !who.Admin {
		return found, errNotAdmin()
	}
	err = s.db.Read(ctx, func(tx *db.Tx) error {
		r, err := findRow(tx.Gorm(), id)
		if err != nil {
			return err
		}
		all, err := s.read(ctx, tx, []subscriptionRow{r})
		if err == nil {
			found = all[0]
		}
		return err
	})
	return found, err
}

// read converts rows into subscriptions as clients see them, with the health of their deliveries.
func (s *Service) read(ctx context.Context, tx *db.Tx, rows []subscriptionRow) ([]Subscription, error) {
	ids, all := make([]string, len(rows)), make([]Subscription, len(rows))
	for i := range rows {
		ids[i], all[i] = rows[i].ID, s.view(&rows[i])
	}
	healths, err := s.deliveries.Healths(ctx, tx, ids)
	for i := range all {
		if h, ok := healths[ids[i]]; ok {
			all[i].Health = &h
		}
	}
	return all, err
}

// view converts a row into a subscription as clients see it, without the health of its deliveries.
func (s *Service) view(r *subscriptionRow) Subscription {
	return Subscription{
		ID: r.ID, WebhookID: r.WebhookID, URL: r.URL, Description: r.Description,
		Enabled: r.Enabled, Paused: r.Paused, MaxBatch: r.MaxBatch, Ordered: r.Ordered,
		HasSecret: r.Secret != "", Secret: r.newSecret, PreviousSecretValidFor: r.previousValid(), DisabledReason: string(r.DisabledReason),
		EventTypes: r.EventTypes, LastResponseAt: delivery.Instant(r.LastResponseAt), RetryCount: r.RetryCount,
		CreatedAt: delivery.Instant(r.CreatedAt), UpdatedAt: delivery.Instant(r.UpdatedAt), CreatedBy: s.member(r.CreatedBy),
	}
}

// stored returns the stored id of a member.
func (s *Service) stored(member oid.OID) int64 {
	if t, ok := s.model.Type(member.Type); ok {
		return t.Stored(member.ID)
	}
	return member.ID
}

// member returns the Oid of the member with a stored id.
func (s *Service) member(id int64) string {
	if t, ok := s.model.Type("Member"); ok {
		id = t.Shown(id)
	}
	return oid.OID{Type: "Member", ID: id}.String()
}
