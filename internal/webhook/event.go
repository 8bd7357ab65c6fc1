package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/value"
)

// maxEvents and maxBytes bound one delivery; a single event may be larger.
const (
	maxEvents = 100
	maxBytes  = 256 << 10
)

// event is one change with what all its readers share.
type event struct {
	step    change.Step
	changes []change.Change
	audit   *claimed
	wishes  []*wish // those it is for
	open    []*wish // and those whose filter or userContext is still to be asked
}

// oid names the asset at the moment of the change.
func (e *event) oid() oid.OID {
	t := e.step.Now.Type
	return oid.OID{Type: t.Name, ID: t.Shown(e.step.Now.ID), Moment: e.step.Now.Moment}
}

// printer appends events as JSON.
type printer struct {
	public  string
	types   map[int64]*meta.Type // by stored id, of every asset that changes mention
	members map[int64][]byte     // by stored id: the instigator as JSON
}

// middle appends what an event says apart from whom it is for and the snapshot.
//
// Shape: "sequenceId":12,"eventType":"AssetChanged",...,"changes":[...]
// Spec: interface 6.2; compat 9.22.
func (p *printer) middle(b []byte, e *event) ([]byte, error) {
	v := &e.step.Now
	kind := AssetChanged
	if e.step.IsCreation() {
		kind = AssetCreated
	}
	b = append(b, `"sequenceId":`...)
	b = strconv.AppendInt(b, v.Moment, 10)
	b = append(b, `,"eventType":"`...)
	b = append(b, kind...)
	b = append(b, `","timestamp":"`...)
	b = value.AppendInstant(b, e.audit.at)
	b = append(b, `","instigator":`...)
	b = append(b, p.members[e.audit.actor]...)
	b = append(b, `,"targetAsset":{"_oid":"`...)
	b = e.oid().Append(b)
	b = append(b, `","assetType":"`...)
	b = append(b, v.Type.Name...)
	b = append(b, `","href":`...)
	b = p.href(b, e.oid().Now())
	b = append(b, `},"changes":[`...)
	for i := range e.changes {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = p.change(b, &e.changes[i]); err != nil {
			return nil, fmt.Errorf("event of %s: %w", e.oid(), err)
		}
	}
	return append(b, ']'), nil
}

// test appends the event of a delivery that only tries whether events arrive:
// its eventType says so, and nothing has changed.
func (p *printer) test(b []byte, webhookID string, member oid.OID, stored, at int64) []byte {
	b = append(b, `{"webhookId":`...)
	b = value.AppendString(b, webhookID)
	b = append(b, `,"sequenceId":0,"eventType":"`+Test+`","timestamp":"`...)
	b = value.AppendInstant(b, at)
	b = append(b, `","instigator":`...)
	b = append(b, p.members[stored]...)
	b = append(b, `,"targetAsset":{"_oid":"`...)
	b = member.Append(b)
	b = append(b, `","assetType":"`+member.Type+`","href":`...)
	b = p.href(b, member)
	return append(b, `},"changes":[],"snapshot":[]}`...)
}

// href appends the address of an asset's page as a JSON string.
func (p *printer) href(b []byte, o oid.OID) []byte {
	return value.AppendString(b, p.public+"/assetdetail.v1?oid="+o.String())
}

func (p *printer) change(b []byte, c *change.Change) ([]byte, error) {
	b = append(b, `{"name":"`...)
	b = append(b, c.Attr.Name...)
	b = append(b, '"')
	var err error
	if c.Old != nil {
		b = append(b, `,"old":`...)
		if b, err = p.value(b, c.Attr, c.Old); err != nil {
			return nil, err
		}
	}
	if c.New != nil || c.Act == change.Set {
		b = append(b, `,"new":`...)
		if b, err = p.value(b, c.Attr, c.New); err != nil {
			return nil, err
		}
	}
	b = append(b, `,"act":"`...)
	b = append(b, c.Act...)
	return append(b, `"}`...), nil
}

// value appends one value as a query row shows it: numbers as strings, a
// missing asset as {"_oid":"NULL"}.
// Spec: compat 5 (row rendering), 9.22.
func (p *printer) value(b []byte, a *meta.Attr, v any) ([]byte, error) {
	if a.Kind == meta.Relation {
		return p.relation(b, a, v)
	}
	x, ok := value.Of(v)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T", a.Token(), v)
	}
	return value.AppendRow(b, x, a.Kind, a), nil
}

func (p *printer) relation(b []byte, a *meta.Attr, v any) ([]byte, error) {
	b = append(b, `{"_oid":"`...)
	if v == nil {
		return append(b, `NULL"}`...), nil
	}
	id, ok := v.(int64)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T", a.Token(), v)
	}
	t := p.types[id]
	if t == nil {
		t = a.Related // an asset that never was: shown by what it should have been
	}
	b = oid.OID{Type: t.Name, ID: t.Shown(id)}.Append(b)
	return append(b, `"}`...), nil
}

// membersKept is how long what is known of a member is used again.
const membersKept = time.Second

// members remembers instigators for a moment: most changes have the same few.
type members struct {
	mu    sync.Mutex
	since time.Time
	known map[int64][]byte // by stored id, as JSON
}

// get returns what is known and fresh; the map must not be changed.
func (m *members) get() map[int64][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.since) > membersKept {
		m.since, m.known = time.Now(), nil
	}
	return m.known
}

func (m *members) put(found map[int64][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := maps.Clone(m.known)
	if all == nil {
		all = map[int64][]byte{}
	}
	maps.Copy(all, found)
	m.known = all
}

// instigators looks up the members that caused the events.
//
// Shape: {_oid, href, name, nickName, email, role, avatar}
// Spec: interface 6.2; compat 9.22.
func (w *Worker) instigators(ctx context.Context, p *printer, ids []int64) error {
	t, ok := w.model.Type("Member")
	if !ok {
		return nil
	}
	known := w.members.get()
	ids = slices.DeleteFunc(ids, func(id int64) bool {
		text, ok := known[id]
		if ok {
			p.members[id] = text
		}
		return ok
	})
	for part := range slices.Chunk(ids, db.MaxIn) {
		if err := w.instigatorsOf(ctx, p, t, part); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		w.members.put(p.members)
	}
	return nil
}

func (s *Service) instigatorsOf(ctx context.Context, p *printer, t *meta.Type, ids []int64) error {
	now, err := s.loader.Current(ctx, s.db, ids)
	if err != nil {
		return err
	}
	role, hasRole := t.Attr("DefaultRole")
	avatar, hasAvatar := t.Attr("Avatar")
	linked := map[*meta.Attr]map[int64]int64{}
	if hasRole && hasAvatar {
		if linked, err = s.loader.Linked(ctx, s.db, t, ids, role, avatar); err != nil {
			return err
		}
	}
	for _, id := range ids {
		b := append([]byte(`{"_oid":`), '"')
		o := oid.OID{Type: t.Name, ID: t.Shown(id)}
		b = append(o.Append(b), `","href":`...)
		b = p.href(b, o)
		for _, f := range [][2]string{{"name", "Name"}, {"nickName", "Nickname"}, {"email", "Email"}} {
			b = append(b, `,"`+f[0]+`":`...)
			if b, err = memberText(b, now[id], t, f[1]); err != nil {
				return err
			}
		}
		b = append(b, `,"role":`...)
		if to, ok := linked[role][id]; ok {
			b = value.AppendString(b, oid.OID{Type: role.Related.Name, ID: role.Related.Shown(to)}.String())
		} else {
			b = append(b, "null"...)
		}
		b = append(b, `,"avatar":`...)
		if to, ok := linked[avatar][id]; ok {
			b = value.AppendString(b, p.public+"/attachment.img/"+strconv.FormatInt(avatar.Related.Shown(to), 10))
		} else {
			b = append(b, "null"...)
		}
		p.members[id] = append(b, '}')
	}
	return nil
}

func memberText(b []byte, v *change.Version, t *meta.Type, name string) ([]byte, error) {
	a, ok := t.Attr(name)
	if v == nil || !ok {
		return append(b, "null"...), nil
	}
	held, err := change.Value(v, a)
	if err != nil {
		return nil, err
	}
	if text, ok := held.(string); ok {
		return value.AppendString(b, text), nil
	}
	return append(b, "null"...), nil
}
