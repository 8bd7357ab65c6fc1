package bulk

import (
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/doc"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

type kind uint8

const (
	kindCreate kind = iota + 1
	kindUpdate
	kindExecute
	kindQuery
	kindConfig
)

// verb names what a command of the kind does, for the metrics.
func (k kind) verb() string {
	switch k {
	case kindCreate:
		return "create"
	case kindUpdate:
		return "update"
	case kindExecute:
		return "execute"
	case kindConfig:
		return "config"
	}
	return "query"
}

// step is one projected command.
type step struct {
	index  int // of the command in the payload that it comes from
	kind   kind
	alias  string // with its @; made on demand when auto
	suffix string // of an automatic alias

	node     *doc.Node // the command as written
	deferred bool      // from is looked up when the step's turn comes
	inside   bool      // part of a user-aliased create: preview shows it there
	whole    bool      // a user-aliased create with nested ones: preview shows it as written

	typ     *meta.Type // create, or as far as known
	name    string     // create: the AssetType as written
	fields  []field    // create, update: attributes in their order
	context asset.Ref  // create: zero when there is none
	handle  *asset.Handle

	from oid.OID // update, execute: the asset; null while deferred
	op   string
	args []field

	ifMoment int64 // update, execute: the moment the asset must have; 0: any

	parent  *step          // of a nested create
	command *asset.Command // once it is built
	dead    bool           // the asset was deleted and the command's query found it so

	err  error // the step fails with this when its turn comes
	gone bool  // matched nothing: no step at all
}

// done lets go of what only carrying the step out and telling of its failure
// need: a request has very many steps. What is nested in an update still asks
// its command what became of it.
func (s *step) done() {
	s.fields, s.args = nil, nil
	if s.command != nil {
		s.command.Changes, s.command.Args = nil, nil
	}
	if s.kind == kindCreate {
		s.command = nil
	}
}

// takesSeveral reports whether an attribute of the step's asset, as far as its
// type is known, takes several values.
func (s *step) takesSeveral(name string) bool {
	if s.typ == nil || s.kind == kindExecute {
		return false
	}
	a, ok := s.typ.Attr(name)
	return ok && a.Multi
}

// field is one attribute or argument and its value as written.
type field struct {
	name string
	node *doc.Node
}

// autoSuffix marks the aliases that creates are given.
const autoSuffix = "$auto-aliased"

// label returns the step's alias, made when it is first asked for.
func (s *step) label() string {
	if s.alias == "" {
		s.alias = "@" + uuid.NewString() + s.suffix
	}
	return s.alias
}
