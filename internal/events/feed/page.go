package feed

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// Limits of one page.
const (
	maxBytes    = 1 << 20 // size in bytes of the events of a page; a single event may be larger
	maxExamined = 10000   // number of changes that are examined
)

// Page is a part of the feed.
type Page struct {
	Events []Event
	Next   Cursor // the place after the page
	More   bool   // true: there may already be more changes after the page
	Head   int64  // if More is false: the last position at that time
	Bytes  int64  // size of the events, which counts as memory of the request
}

// Event is one change as JSON. Example:
// {"sequenceId":12,"eventType":"AssetChanged",…,"changes":[…],"snapshot":[…]}
// Spec: interface 6.2.2.
type Event struct {
	Text []byte
	Next Cursor // the place after the event
}

// Body returns a page as JSON.
//
//	{"events":[…],"next":"1272.1265","more":false}
func (p *Page) Body() []byte {
	b := append(make([]byte, 0, p.Bytes+64), `{"events":[`...)
	for i := range p.Events {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p.Events[i].Text...)
	}
	b = append(append(b, `],"next":"`...), p.Next.String()...)
	if p.More {
		return append(b, `","more":true}`...)
	}
	return append(b, `","more":false}`...)
}

// Page returns changes after the place r.After. The changes match the request, and the requested
// member sees them now. The error has the kind fault.Invalid for an invalid request, and
// fault.Denied if the caller may not read as the requested member. It is asset.ErrModelChanged if
// the model of s is not the current model.
func (s *Service) Page(ctx context.Context, who auth.Actor, r Request) (Page, error) {
	q, err := s.read(ctx, who, &r)
	if err != nil {
		return Page{}, err
	}
	if r.After == "" {
		head, err := s.log.Advance(ctx)
		return Page{Next: Cursor{Position: head + 1}, Head: head}, err
	}
	at, err := s.cursor(ctx, r.After)
	if err != nil {
		return Page{}, err
	}
	if head, more, err := s.log.look(ctx); err != nil || !more && at.Position == head+1 {
		// Clients that have read everything so far usually get this result.
		return Page{Next: at, Head: head}, err
	}
	p := Page{Next: at}
	for examined, before := 0, int64(-1); ; before = p.Head {
		x := &reader{Service: s, question: q, hold: memory.From(ctx)}
		err := s.db.Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
			x.begin(tx, p, examined)
			return x.readAll(ctx)
		})
		if p, examined = x.page, x.examined; err != nil || x.full {
			p.More = true
			return p, err
		}
		// Now all changes that have a position were read. Newer writes may not have a position yet.
		// Advance assigns a position to them.
		if p.Head, err = s.log.Advance(ctx); err != nil {
			return Page{}, err
		}
		if p.Next.Position > p.Head+1 {
			return Page{}, errAhead()
		}
		if p.Next.Position == p.Head+1 || p.Head == before {
			return p, nil
		}
	}
}

// checkModel returns asset.ErrModelChanged if the current model is not the model of s. Changes may
// then have been written with the other model.
func (s *Service) checkModel(ctx context.Context, q db.Querier) error {
	if s.generation == 0 {
		return nil
	}
	present, err := catalog.Generation(ctx, q)
	if err == nil && present != s.generation {
		err = asset.ErrModelChanged
	}
	return err
}
