package event

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// Finder reads assets as they were at a moment.
type Finder interface {
	// Matching reports which of the assets, each as of its moment, who may see
	// and all filters match.
	Matching(ctx context.Context, q db.Querier, who auth.Actor, typ string, filters []string,
		with map[string][]string, at []oid.OID) ([]bool, error)
	// Snapshot returns one row per asset, as of its moment; nil where who may not
	// see it.
	Snapshot(ctx context.Context, q db.Querier, who auth.Actor, typ string, sel []string,
		at []oid.OID) ([]json.RawMessage, error)
	// CheckDefinition reports the first token that the model does not know.
	CheckDefinition(typ string, filters []string, with map[string][]string, sel, attributes []string) error
}

// Actors resolves the member of a userContext to an actor.
type Actors interface {
	// ActorAt returns a member with its rights at a moment.
	ActorAt(ctx context.Context, member, moment int64) (auth.Actor, error)
	// Steady reports whether the rights did not change between two moments.
	Steady(ctx context.Context, member, from, to int64) (bool, error)
}

// Engine reads, matches and prints changes by one model. It is safe for
// concurrent use.
type Engine struct {
	Model  *meta.Model
	Differ *change.Differ
	Loader *change.Loader
	Find   Finder

	db      db.Querier
	public  string
	members *members
}

// New returns an engine on d. public is the base URL as others see it.
func New(d db.Querier, m *meta.Model, f Finder, public string) *Engine {
	differ := change.NewDiffer(m)
	return &Engine{Model: m, Differ: differ, Loader: change.NewLoader(differ), Find: f, db: d, public: strings.TrimSuffix(public, "/"), members: &members{}}
}

// in returns an engine of the same model that reads in a transaction.
func (e *Engine) in(tx db.Querier) *Engine {
	other := *e
	other.db = tx
	return &other
}

// With returns an engine of another model of the same database.
func (e *Engine) With(m *meta.Model, f Finder) *Engine { return New(e.db, m, f, e.public) }
