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

// Bounds of a preview: the changes it looks at, and those that are matched together.
const (
	previewed    = 100
	previewBatch = 25
)

// Preview is which of the latest changes the definitions of a subscription match.
// Spec: interface 4.4.6.
type Preview struct {
	Matched int             `json:"matched"`
	Changes []Previewed     `json:"changes"`         // newest first
	Event   json.RawMessage `json:"event,omitempty"` // the newest of those that match, as it would be sent
}

// Previewed is one change of a preview.
type Previewed struct {
	SequenceID int64      `json:"sequenceId"`
	EventType  event.Type `json:"eventType"`
	Timestamp  string     `json:"timestamp"`
	Asset      string     `json:"asset"`          // with the moment
	Name       string     `json:"name,omitempty"` // as it was then
	Attributes []string   `json:"attributes"`     // that have changed
	// Definitions are the indices of those that match, in eventTypes.
	Definitions []int `json:"definitions"`
	// Why is what none of the definitions is for: "type", "attributes" or "filter".
	Why string `json:"why,omitempty"`
}

// Preview checks a subscription as Create does, and matches its definitions with the
// latest changes by what matches those to come. It writes nothing.
// Errors: fault.Invalid with the place in the body, fault.Denied.
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

// previewer matches changes with the definitions of a subscription, and with a target
// of its own that every change is for.
type previewer struct {
	Preview
	s       *Service
	r       *subscriptionRow
	index   *event.Index
	targets []event.Target // by definition
	sent    event.Target   // of all definitions, as the subscription will be
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

// latest is where a change stands, and its write.
type latest struct {
	change.At
	audit event.Audit
}

// run fills the preview from one snapshot.
func (x *previewer) run(ctx context.Context, tx *db.Tx) error {
	x.Preview = Preview{Changes: []Previewed{}}
	all, err := x.latest(ctx, tx)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(all, previewBatch) { // the oldest first
		if err := x.match(ctx, tx, part); err != nil {
			return err
		}
	}
	slices.Reverse(x.Changes)
	return nil
}

// latest finds the latest changes, the oldest of them first. Types that the model does
// not know have none.
func (x *previewer) latest(ctx context.Context, tx *db.Tx) (all []latest, err error) {
	kept, err := history.Of(ctx, tx)
	if err != nil {
		return nil, err
	}
	err = db.Each(ctx, tx, `SELECT v.id, v.moment, v.type, a.id, a.request_id, a.actor_id, a.at, a.generation FROM
		(SELECT id, moment, type, audit_id FROM asset_version WHERE moment > ? ORDER BY moment DESC LIMIT ?) v
		JOIN audit a ON a.id = v.audit_id WHERE a.last_moment > 0`, []any{kept.Moment, previewed}, func(row db.Scanner) error {
		var l latest
		var code int
		err := row.Scan(&l.ID, &l.Moment, &code, &l.audit.ID, &l.audit.Request, &l.audit.Actor, &l.audit.At, &l.audit.Generation)
		if _, known := x.s.model.TypeByCode(code); known {
			all = append(all, l)
		}
		return err
	})
	slices.SortFunc(all, func(a, b latest) int { return cmp.Or(cmp.Compare(a.Moment, b.Moment), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// match adds some changes to the preview.
func (x *previewer) match(ctx context.Context, tx *db.Tx, part []latest) error {
	index, hold, taken := x.index.In(tx), memory.From(ctx), int64(0)
	defer func() { hold.Give(taken) }()
	at, audits := make([]change.At, len(part)), map[int64]*event.Audit{}
	for i := range part {
		at[i], audits[part[i].audit.ID] = part[i].At, &part[i].audit
	}
	versions, err := index.Loader.VersionsAt(ctx, tx, at, func(bytes int64) error {
		bytes *= 3 // the version before, too, and what is made of both
		if err := hold.Take(bytes); err != nil {
			return err
		}
		taken += bytes
		return nil
	})
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

// add adds events to the preview, and keeps the last one that matches as it would be
// sent.
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

// previewed is an event as a preview shows it.
func (x *previewer) previewed(m *event.Matcher, e *event.Event) Previewed {
	v := e.Step.Now
	p := Previewed{
		SequenceID: v.Moment, EventType: kindOf(&v), Timestamp: delivery.Instant(e.Audit.At), Asset: e.OID().String(),
		Attributes: []string{}, Definitions: []int{},
	}
	if a, ok := v.Type.Attr("Name"); ok {
		name, _ := change.Value(&v, a) // without its name a change is shown by its Oid
		p.Name, _ = name.(string)
	}
	for i := range e.Changes {
		if name := e.Changes[i].Attr.Name; !slices.Contains(p.Attributes, name) {
			p.Attributes = append(p.Attributes, name)
		}
	}
	matching := e.Targets()
	for i := range x.targets {
		// Who matches and sees no row is sent nothing.
		if slices.Contains(matching, &x.targets[i]) && len(m.Text(nil, &x.targets[i], nil, e, nil)) > 0 {
			p.Definitions = append(p.Definitions, i)
		}
	}
	if len(p.Definitions) == 0 {
		p.Why = x.why(&v, &p)
	}
	return p
}

// why is the furthest that a change came with any of the definitions, where it matches
// none.
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

// headOf is what events of a subscription begin with.
func headOf(webhookID string) []byte {
	return append(value.AppendString([]byte(`"webhookId":`), webhookID), ',')
}
