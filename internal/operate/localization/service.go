package localization

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/localizer"
	"github.com/alds-dev/alds/internal/store/db"
)

// freshFor is how long a process uses a generation before it reads the generation again.
const freshFor = 500 * time.Millisecond

// Options are the optional parts of a Service.
type Options struct {
	Now func() time.Time // the clock for freshFor; nil: time.Now
}

// Service reads and changes the texts that administrators set. It is safe for concurrent use. New
// returns a Service.
type Service struct {
	db        *db.DB
	languages []string // languages for which texts may be set
	now       func() time.Time

	known   atomic.Pointer[known]
	reading chan struct{} // contains one element while a read runs
}

// known is the result of the last read.
type known struct {
	generation int64
	overrides  []localizer.Override // ordered by tag and language
	at         time.Time            // when the generation was read
}

// New returns a service that has read nothing yet. languages are the languages for which
// texts may be set.
func New(d *db.DB, languages []string, o Options) *Service {
	s := &Service{db: d, languages: languages, now: o.Now, reading: make(chan struct{}, 1)}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// current returns the texts of administrators. They were current at most freshFor ago. If several
// calls run at the same time, one of them reads the database and the others wait for the result.
// The error has the kind fault.Transient if the database does not answer, or if ctx ends while
// current waits.
func (s *Service) current(ctx context.Context) (*known, error) {
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

// fresh returns the result of the last read, or nil if it is older than freshFor.
func (s *Service) fresh() *known {
	if k := s.known.Load(); k != nil && s.now().Sub(k.at) < freshFor {
		return k
	}
	return nil
}

// read reads the generation. It reads the rows only if the generation has changed.
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
		return nil, fmt.Errorf("read the texts of administrators: %w", err)
	}
	s.known.Store(&next)
	return &next, nil
}

// forget makes the next call of current read the rows again. It waits until a running read ends,
// because that read may store old rows.
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
	const query = `SELECT tag, language, content FROM localization ORDER BY tag, language`
	return db.Collect(ctx, q, query, nil, func(r db.Scanner) (o localizer.Override, err error) {
		return o, r.Scan(&o.Tag, &o.Language, &o.Text)
	})
}

// Texts contains the texts of one model, combined with the texts of administrators. Service.With
// returns it.
type Texts struct {
	s    *Service
	base *localizer.Localizer
	last atomic.Pointer[combined]
}

// combined is a localizer with the texts of one generation.
type combined struct {
	generation int64
	localizer  *localizer.Localizer
}

// With returns the texts of a model, combined with the texts of administrators.
func (s *Service) With(base *localizer.Localizer) *Texts { return &Texts{s: s, base: base} }

// In returns the texts in the best language for an Accept-Language header. It returns an error of
// the kind fault.Transient if the database does not answer.
func (t *Texts) In(ctx context.Context, accept string) (localizer.Texts, error) {
	k, err := t.s.current(ctx)
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
