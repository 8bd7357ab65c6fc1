package localization

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/localizer"
)

// freshFor is how long a generation is not asked for again.
const freshFor = 500 * time.Millisecond

// Options are the parts of a Service that may be left out.
type Options struct {
	Now func() time.Time // of the process, for freshFor
}

// Service reads and changes the texts that administrators have set. It is safe for
// concurrent use; New returns one.
type Service struct {
	db        *db.DB
	languages []string // that a text may be set for
	now       func() time.Time

	known   atomic.Pointer[known]
	reading chan struct{} // holds one while somebody reads
}

// known is what was read last.
type known struct {
	generation int64
	overrides  []localizer.Override // ordered by tag and language
	at         time.Time            // when the generation was asked for
}

// New returns a service that has read nothing yet. languages are those that a text
// may be set for.
func New(d *db.DB, languages []string, o Options) *Service {
	s := &Service{db: d, languages: languages, now: o.Now, reading: make(chan struct{}, 1)}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// present returns the texts that are set, at most freshFor old. Of many who ask at
// the same time one reads.
// Errors: fault.Transient when the database does not answer.
func (s *Service) present(ctx context.Context) (*known, error) {
	if k := s.fresh(); k != nil {
		return k, nil
	}
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, fault.Transientf(ctx.Err(), "the texts could not be read in time")
	}
	if k := s.fresh(); k != nil {
		return k, nil
	}
	return s.read(ctx)
}

func (s *Service) fresh() *known {
	if k := s.known.Load(); k != nil && s.now().Sub(k.at) < freshFor {
		return k
	}
	return nil
}

// read asks for the generation, and reads the rows if it has moved.
func (s *Service) read(ctx context.Context) (*known, error) {
	next := known{at: s.now()}
	err := s.db.Lookup().Read(ctx, func(tx *db.Tx) (err error) {
		if next.generation, err = generation(ctx, tx); err != nil {
			return err
		}
		if last := s.known.Load(); last != nil && last.generation == next.generation {
			next.overrides = last.overrides
			return nil
		}
		next.overrides, err = rows(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the texts that are set: %w", err)
	}
	s.known.Store(&next)
	return &next, nil
}

// forget makes the next who asks for a text read anew, also where somebody is
// reading what was there before.
func (s *Service) forget(ctx context.Context) {
	select {
	case s.reading <- struct{}{}:
		s.known.Store(nil)
		<-s.reading
	case <-ctx.Done():
	}
}

func generation(ctx context.Context, q db.Querier) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT value FROM sequence WHERE name = 'localization'`).Scan(&n)
	return n, err
}

func rows(ctx context.Context, q db.Querier) ([]localizer.Override, error) {
	return db.Collect(ctx, q, `SELECT tag, language, content FROM localization ORDER BY tag, language`, nil, func(r db.Scanner) (o localizer.Override, err error) {
		return o, r.Scan(&o.Tag, &o.Language, &o.Text)
	})
}

// Texts are the texts of one model with those that are set; With returns them.
type Texts struct {
	s    *Service
	base *localizer.Localizer
	last atomic.Pointer[combined]
}

// combined is a localizer with the texts of a generation.
type combined struct {
	generation int64
	localizer  *localizer.Localizer
}

// With returns the texts of a model, to which it adds those that are set.
func (s *Service) With(base *localizer.Localizer) *Texts { return &Texts{s: s, base: base} }

// In returns the texts in the language that suits an Accept-Language best.
// Errors: fault.Transient when the database does not answer.
func (t *Texts) In(ctx context.Context, accept string) (localizer.Texts, error) {
	k, err := t.s.present(ctx)
	if err != nil {
		return localizer.Texts{}, err
	}
	c := t.last.Load()
	if c == nil || c.generation != k.generation {
		c = &combined{k.generation, t.base.With(k.overrides)}
		t.last.Store(c)
	}
	return c.localizer.In(accept), nil
}
