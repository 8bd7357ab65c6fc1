package feed

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// Bounds of one page.
const (
	maxBytes    = 1 << 20 // of the events of a page; a single event may be larger
	maxExamined = 10000   // changes that are examined
)

// Page is a part of the feed.
type Page struct {
	Events []Event
	Next   Cursor // the place after the page
	More   bool   // there may be more changes after the page already
	Head   int64  // if More is false: the last position at that time
	Bytes  int64  // of the events, counted as memory of the request
}

// Event is one change as JSON.
// Shape: {"sequenceId":12,"eventType":"AssetChanged",…,"changes":[…],"snapshot":[…]}
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

// Page returns the changes after the place r.After that match a request and that who sees now.
// Errors: fault.Invalid; fault.Denied; asset.ErrModelChanged if the model is not the current
// one.
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
		// The usual result for a client that follows the feed.
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
		// Here all changes that have a position have been read. Newer writes may not have
		// one yet; Advance assigns it.
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

// checkModel refuses to read changes that may have been written with another model.
// Errors: asset.ErrModelChanged.
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
