package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/db"
)

// Limits of a preview.
const (
	previewed    = 100 // number of changes in a preview
	previewBatch = 25  // number of changes that are matched together
)

// Preview shows which of the latest changes match the definitions of a subscription.
// Spec: interface 4.4.6.
type Preview struct {
	Matched int             `json:"matched"`         // number of matching changes
	Changes []Previewed     `json:"changes"`         // the changes of the preview, newest first
	Event   json.RawMessage `json:"event,omitempty"` // event of the newest matching change, as it would be sent
}

// Previewed is one change in a preview.
type Previewed struct {
	SequenceID int64      `json:"sequenceId"`
	EventType  event.Type `json:"eventType"`
	Timestamp  string     `json:"timestamp"`
	Asset      string     `json:"asset"`          // Oid of the asset with the moment of the change
	Name       string     `json:"name,omitempty"` // name of the asset at the moment of the change
	Attributes []string   `json:"attributes"`     // names of the changed attributes
	// Definitions contains the zero-based positions of the matching definitions in eventTypes.
	Definitions []int `json:"definitions"`
	// Why says why no definition matches: because of the "type", the "attributes" or the "filter".
	// It is empty if a definition matches.
	Why string `json:"why,omitempty"`
}

// Preview checks a subscription in the same way as Create, but the url is optional. It matches the
// definitions with the latest changes, in the same way as the fan-out. It writes nothing. The error
// has the kind fault.Invalid, with the place in the body, or fault.Denied if the actor is not an
// administrator.
// Spec: interface 4.4.6.
func (s *Service) Preview(ctx context.Context, who auth.Actor, body []byte) (Preview, error) {
	if !who.Admin {
		return Preview{}, errNotAdmin()
	}
	n, err := parseBody(body)
	if err != nil {
		return Preview{}, err
	}
	var r subscriptionRow
	if err := s.begin(&r, n, "eventTypes"); err != nil {
		return Preview{}, err
	}
	x, err := s.newPreviewer(&r)
	if err != nil {
		return Preview{}, err
	}
	err = s.db.Read(ctx, func(tx *db.Tx) error {
		if err := s.checkMembers(ctx, tx, n); err != nil {
			return err
		}
		return x.run(ctx, tx)
	})
	return x.Preview, err
}

// previewer matches changes with the definitions of a subscription. An additional target matches
// every change, so that the preview also shows changes that no definition matches.
type previewer struct {
	Preview
	s       *Service
	r       *subscriptionRow
	index   *event.Index
	targets []event.Target // one for each definition
	sent    event.Target   // the subscription with all its definitions; for the event that would be sent
}

func (s *Service) newPreviewer(r *subscriptionRow) (*previewer, error) {
	x := &previewer{s: s, r: r, index: s.events.NewIndex(), targets: make([]event.Target, len(r.EventTypes))}
	x.sent.Head = headOf(r.WebhookID)
	for i := range r.EventTypes {
		for _, t := range []*event.Target{&x.targets[i], &x.sent} {
			if err := x.index.Add(t, i, &r.EventTypes[i]); err != nil {
				return nil, err
			}
		}
	}
	all := &event.Target{}
	for _, t := range s.model.Types {
		if t.Parent != nil || len(t.Concrete) == 0 {
			continue
		}
		for _, kind := range []event.Type{event.AssetCreated, event.AssetChanged} {
			if err := x.index.Add(all, 0, &event.Definition{Type: kind, From: t.Name}); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// latest is one of the latest changes, with its write.
type latest struct {
	change.At
	audit event.Audit
}

// run fills the preview with the changes that are visible in tx.
func (x *previewer) run(ctx context.Context, tx *db.Tx) error {
	x.Preview = Preview{Changes: []Previewed{}}
	all, err := x.latest(ctx, tx)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(all, previewBatch) { // the oldest changes first
		err := change.InParts(part, func(part []latest) error { return x.match(ctx, tx, part) })
		if err != nil {
			return err
		}
	}
	slices.Reverse(x.Changes)
	return nil
}

// latest returns the latest changes, oldest first. It skips changes before the horizon, where
// history was removed, and changes of types that the model does not have.
func (x *previewer) latest(ctx context.Context, tx *db.Tx) (all []latest, err error) {
	kept, err := history.Of(ctx, tx)
	if err != nil {
		return nil, err
	}
	err = db.Each(ctx, tx, `SELECT v.id, v.moment, v.type, a.id, a.request_id, COALESCE(a.reason, ''), COALESCE(a.application, ''), COALESCE(a.tool, ''), a.actor_id, a.at, a.generation FROM
		(SELECT id, moment, type, audit_id FROM asset_version WHERE moment > ? ORDER BY moment DESC LIMIT ?) v
		JOIN audit a ON a.id = v.audit_id WHERE a.last_moment > 0`, []any{kept.Moment, previewed}, func(row db.Scanner) error {
		var l latest
		var code int
		err := row.Scan(&l.ID, &l.Moment, &code, &l.audit.ID, &l.audit.Request, &l.audit.Reason, &l.audit.Application, &l.audit.Tool, &l.audit.Actor, &l.audit.At, &l.audit.Generation)
		if _, known := x.s.model.TypeByCode(code); known {
			all = append(all, l)
		}
		return err
	})
	slices.SortFunc(all, func(a, b latest) int { return cmp.Or(cmp.Compare(a.Moment, b.Moment), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// match matches some changes with the definitions and adds them to the preview.
func (x *previewer) match(ctx context.Context, tx *db.Tx, part []latest) error {
	index := x.index.In(tx)
	at, audits := make([]change.At, len(part)), map[int64]*event.Audit{}
	for i := range part {
		at[i], audits[part[i].audit.ID] = part[i].At, &part[i].audit
	}
	versions, release, err := versionsAt(ctx, tx, index, at)
	defer release()
	if err != nil {
		return err
	}
	m := index.NewMatcher(x.s.actors, func(string, int) {})
	events, err := m.Match(ctx, audits, versions)
	if err != nil || len(events) == 0 {
		return err
	}
	if err := m.Snapshots(ctx, events); err != nil {
		return err
	}
	return x.add(ctx, index, m, events)
}

// versionsAt reads versions. It adds their memory to the reservation of ctx, until release is called.
// Errors: change.ErrTooLarge if there is too little memory for several of them together.
func versionsAt(ctx context.Context, tx *db.Tx, x *event.Index, at []change.At) (all []change.Version, release func(), err error) {
	hold, taken := memory.From(ctx), int64(0)
	all, err = x.Loader.VersionsAt(ctx, tx, at, func(bytes int64) error {
		bytes *= 3 // for the version, the previous version, and the event made from both
		if err := hold.Take(bytes); err != nil {
			if len(at) > 1 {
				return change.ErrTooLarge
			}
			return err
		}
		taken += bytes
		return nil
	})
	return all, func() { hold.Give(taken) }, err
}

// add adds events to the preview. It sets x.Event to the last of these events that matches a
// definition, in the form in which it would be sent.
func (x *previewer) add(ctx context.Context, index *event.Index, m *event.Matcher, events []*event.Event) error {
	var last *event.Event
	for _, e := range events {
		p := x.previewed(m, e)
		if x.Changes = append(x.Changes, p); len(p.Definitions) > 0 {
			x.Matched++
			last = e
		}
	}
	if last == nil {
		return nil
	}
	p, err := index.Printer(ctx, []*event.Event{last})
	if err != nil {
		return err
	}
	x.Event, err = m.Print(nil, p, &x.sent, x.sent.Head, last, event.Whole)
	return err
}

// previewed returns an event in the form for a preview.
func (x *previewer) previewed(m *event.Matcher, e *event.Event) Previewed {
	v := e.Step.Now
	p := Previewed{
		SequenceID: v.Moment, EventType: kindOf(&v), Timestamp: delivery.Instant(e.Audit.At), Asset: e.OID().String(),
		Attributes: []string{}, Definitions: []int{},
	}
	if a, ok := v.Type.Attr("Name"); ok {
		name, _ := change.Value(&v, a) // an error is ignored, because the name is optional and clients can show the Oid
		p.Name, _ = name.(string)
	}
	for i := range e.Changes {
		if name := e.Changes[i].Attr.Name; !slices.Contains(p.Attributes, name) {
			p.Attributes = append(p.Attributes, name)
		}
	}
	matching := e.Targets()
	for i := range x.targets {
		// Even if a definition matches, nothing is sent if the member in its userContext does not
		// see the asset.
		if slices.Contains(matching, &x.targets[i]) && len(m.Text(&x.targets[i], nil, e, nil)) > 0 {
			p.Definitions = append(p.Definitions, i)
		}
	}
	if len(p.Definitions) == 0 {
		p.Why = x.why(&v, &p)
	}
	return p
}

// why returns the reason why no definition matches a change. If definitions have different reasons,
// it returns the reason of the definition that comes closest to a match.
func (x *previewer) why(v *change.Version, p *Previewed) string {
	why := "type"
	for i := range x.r.EventTypes {
		d := &x.r.EventTypes[i]
		from, ok := x.s.model.Type(d.From)
		if !ok || d.Type != p.EventType || !slices.Contains(from.Concrete, v.Type) {
			continue
		}
		if d.Type == event.AssetCreated || len(d.Attributes) == 0 ||
			slices.ContainsFunc(d.Attributes, func(name string) bool { return slices.Contains(p.Attributes, name) }) {
			return "filter"
		}
		why = "attributes"
	}
	return why
}

func kindOf(v *change.Version) event.Type {
	if v.Created == v.Moment {
		return event.AssetCreated
	}
	return event.AssetChanged
}

// headOf returns the first JSON member of each event for a subscription, with a comma at the end.
func headOf(webhookID string) []byte {
	return append(value.AppendString([]byte(`"webhookId":`), webhookID), ',')
}
