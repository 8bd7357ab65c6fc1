package feed

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Finder reads assets for package event, and returns which assets a reader sees now.
type Finder interface {
	event.Finder
	Seen(ctx context.Context, q db.Querier, who auth.Actor, types []*meta.Type, ids []int64) (map[int64]bool, error)
}

// Actors resolves a member to its current rights.
type Actors interface {
	ActorOf(ctx context.Context, member int64) (auth.Actor, error)
}

// Service reads pages with one model. It is safe for concurrent use.
type Service struct {
	db         *db.DB
	log        *Log
	model      *meta.Model
	generation int64 // of the model; 0: not compared
	finder     Finder
	actors     Actors
	events     *event.Engine
	all        []string                         // the types without a parent type
	sights     map[*meta.Type]*memfilter.Filter // who sees an asset, by concrete type
	compiled   compiled
}

// Options has what a Service needs besides the database and the model.
type Options struct {
	Log        *Log
	Generation int64 // of the model; 0: there is no other model
	Find       Finder
	Actors     Actors
	Public     string // base URL as clients see it
}

// New returns a service on d.
func New(d *db.DB, m *meta.Model, o Options) *Service {
	s := &Service{
		db: d, log: o.Log, model: m, generation: o.Generation, finder: o.Find, actors: o.Actors,
		events: event.New(d, m, o.Find, o.Public), all: rootsOf(m), sights: map[*meta.Type]*memfilter.Filter{},
		compiled: compiled{all: map[asked]*rules{}},
	}
	for _, t := range m.Types {
		if !t.Abstract {
			s.sights[t] = memfilter.New(m, t, nil, nil, true)
		}
	}
	return s
}
