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
	// Matching reports whether the actor sees an asset and all filters match it, for each asset in
	// the list at. It uses the data of the asset at its moment. All assets are of type typ.
	Matching(ctx context.Context, q db.Querier, who auth.Actor, typ string, filters []string,
		with map[string][]string, at []oid.OID) ([]bool, error)
	// Snapshot returns one row per asset, with the data at its moment. A row is nil if the actor
	// does not see the asset.
	Snapshot(ctx context.Context, q db.Querier, who auth.Actor, typ string, sel []string,
		at []oid.OID) ([]json.RawMessage, error)
	// CheckDefinition returns an error for the first token of a definition that is not valid in the
	// model.
	CheckDefinition(typ string, filters []string, with map[string][]string, sel, attributes []string) error
}

// Actors reads the rights of the members in userContexts.
type Actors interface {
	// ActorAt returns a member as an actor, with the rights that the member had at a moment. The
	// error has the kind fault.NotFound if the member did not exist at that moment.
	ActorAt(ctx context.Context, member, moment int64) (auth.Actor, error)
	// Steady reports whether a member had the same rights at all moments in a range.
	Steady(ctx context.Context, member, from, to int64) (bool, error)
}

// Engine reads, matches and prints changes with one model. It is safe for concurrent use.
type Engine struct {
	Model  *meta.Model
	Differ *change.Differ
	Loader *change.Loader
	Find   Finder

	db      db.Querier
	public  string
	members *members
}

// New returns an engine that reads from d. public is the public base URL of alds.
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

// With returns an engine for another model of the same database. f reads the assets of that model.
func (e *Engine) With(m *meta.Model, f Finder) *Engine { return New(e.db, m, f, e.public) }
