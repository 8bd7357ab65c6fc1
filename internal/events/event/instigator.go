package event

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
)

// Printer returns a printer for events. It reads the instigators (the members who made the
// changes), and the types of the assets to which changed relations refer.
func (x *Engine) Printer(ctx context.Context, events []*Event) (*Printer, error) {
	p := &Printer{public: x.public, types: map[int64]*meta.Type{}, members: map[int64][]byte{}}
	var others, actors []int64
	for _, e := range events {
		if p.members[e.Audit.Actor] == nil {
			p.members[e.Audit.Actor] = []byte("null")
			actors = append(actors, e.Audit.Actor)
		}
		for i := range e.Changes {
			others = p.addTypes(&e.Changes[i], others)
		}
	}
	for in, args := range db.InChunks(others) {
		err := db.Each(ctx, x.db, "SELECT id, type FROM asset WHERE id IN "+in, args, func(row db.Scanner) error {
			var id int64
			var code int
			err := row.Scan(&id, &code)
			p.types[id], _ = x.Model.TypeByCode(code)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return p, x.instigators(ctx, p, actors)
}

// addTypes adds the types of the assets to which a changed relation refers. If the relation allows
// only one type, no read is needed. Otherwise addTypes appends the ids of the assets to the list
// others, and the caller must read their types.
func (p *Printer) addTypes(c *change.Change, others []int64) []int64 {
	if c.Attr.Kind != meta.Relation {
		return others
	}
	for _, v := range []any{c.Old, c.New} {
		id, ok := v.(int64)
		if !ok {
			continue
		}
		if _, known := p.types[id]; known {
			continue
		}
		if leaves := c.Attr.Related.Concrete; len(leaves) == 1 {
			p.types[id] = leaves[0]
			continue
		}
		p.types[id] = nil
		others = append(others, id)
	}
	return others
}

// PrinterFor returns a printer for events of one instigator. member is the stored id of the
// instigator.
func (x *Engine) PrinterFor(ctx context.Context, member int64) (*Printer, error) {
	p := &Printer{public: x.public, types: map[int64]*meta.Type{}, members: map[int64][]byte{member: []byte("null")}}
	t, ok := x.Model.Type("Member")
	if !ok {
		return p, nil
	}
	return p, x.instigatorsOf(ctx, p, t, []int64{member})
}

// memberTTL is how long members in the cache are used.
const memberTTL = time.Second

// members is a cache of instigators. It is useful because a few members make most changes.
type members struct {
	mu    sync.Mutex
	since time.Time
	known map[int64][]byte // by stored id: the member as JSON
}

// get returns the cached members. The caller must not change the map.
func (m *members) get() map[int64][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.since) > memberTTL {
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

// instigators adds members to a printer. It reads a member from the database only if the member is
// not in the cache. A member is a JSON object with the keys _oid, href, name, nickName, email, role
// and avatar.
// Spec: interface 6.2.3.
func (x *Engine) instigators(ctx context.Context, p *Printer, ids []int64) error {
	t, ok := x.Model.Type("Member")
	if !ok {
		return nil
	}
	known := x.members.get()
	ids = slices.DeleteFunc(ids, func(id int64) bool {
		text, ok := known[id]
		if ok {
			p.members[id] = text
		}
		return ok
	})
	for part := range slices.Chunk(ids, db.MaxIn) {
		if err := x.instigatorsOf(ctx, p, t, part); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		x.members.put(p.members)
	}
	return nil
}

// instigatorsOf reads members from the database and adds them to a printer.
func (x *Engine) instigatorsOf(ctx context.Context, p *Printer, t *meta.Type, ids []int64) error {
	now, err := x.Loader.Current(ctx, x.db, ids)
	if err != nil {
		return err
	}
	role, hasRole := t.Attr("DefaultRole")
	avatar, hasAvatar := t.Attr("Avatar")
	linked := map[*meta.Attr]map[int64]int64{}
	if hasRole && hasAvatar {
		if linked, err = x.Loader.Linked(ctx, x.db, t, ids, role, avatar); err != nil {
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
	found, err := change.Value(v, a)
	if err != nil {
		return nil, err
	}
	if text, ok := found.(string); ok {
		return value.AppendString(b, text), nil
	}
	return append(b, "null"...), nil
}
