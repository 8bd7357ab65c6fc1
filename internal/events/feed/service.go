package feed

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Finder reads assets for package event, and finds out which assets a reader sees now.
type Finder interface {
	event.Finder
	Seen(ctx context.Context, q db.Querier, who auth.Actor, types []*meta.Type, ids []int64) (map[int64]bool, error)
}

// Actors returns a member as an actor with its current rights.
type Actors interface {
	ActorOf(ctx context.Context, member int64) (auth.Actor, error)
}

// Service reads pages of the feed with one model. It is safe for concurrent use.
type Service struct {
	db         *db.DB
	log        *Log
	model      *meta.Model
	generation int64 // generation of the model; 0: it is not compared with the current generation
	finder     Finder
	actors     Actors
	events     *event.Engine
	all        []string                         // the types without a parent type
	sights     map[*meta.Type]*memfilter.Filter // by concrete type: filter that evaluates who sees an asset
	compiled   compiled
}

// Options contains what a Service needs in addition to the database and the model.
type Options struct {
	Log        *Log
	Generation int64 // generation of the model; 0: there is no other model
	Find       Finder
	Actors     Actors
	Public     string // base URL as clients see it
}

// New returns a service for the database d and the model m.
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
