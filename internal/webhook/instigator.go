package webhook

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/encode"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

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
			b = encode.String(b, oid.OID{Type: role.Related.Name, ID: role.Related.Shown(to)}.String())
		} else {
			b = append(b, "null"...)
		}
		b = append(b, `,"avatar":`...)
		if to, ok := linked[avatar][id]; ok {
			b = encode.String(b, p.public+"/attachment.img/"+strconv.FormatInt(avatar.Related.Shown(to), 10))
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
	value, err := change.Value(v, a)
	if err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok {
		return encode.String(b, text), nil
	}
	return append(b, "null"...), nil
}
