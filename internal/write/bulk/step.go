package bulk

import (
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/doc"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/write/asset"
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

	node      *doc.Node // the command as written
	deferred  bool      // from is resolved when the step is executed
	inParent  bool      // nested in a create with an alias of the user: preview shows it there
	asWritten bool      // a create with an alias of the user and nested ones: preview shows it as written

	typ     *meta.Type // of the asset; nil while unknown
	name    string     // create: the AssetType as written
	fields  []field    // create, update: attributes in their order
	context asset.Ref  // create: zero when there is none
	handle  *asset.Handle

	from oid.OID // update, execute: the asset; null while deferred
	op   string
	args []field

	ifMoment int64 // update, execute: the moment the asset must have; 0: any

	parent  *step          // of a nested create
	owner   *step          // of a create nested in a relation to one: the later step that names what it makes
	command *asset.Command // set by build
	deleted bool           // the asset is deleted and the command asks for deleted ones

	err     error // with which the step fails when it is executed
	noMatch bool  // it matches no asset and is left out
}

// isLeftOut reports whether a step matches no asset, or belongs to one that does not.
func (s *step) isLeftOut() bool {
	return s.noMatch || s.parent != nil && s.parent.isLeftOut() || s.owner != nil && s.owner.isLeftOut()
}

// whole returns the last of the steps that are carried out with s or not at all: that for
// which it is made, or itself.
func (s *step) whole() *step {
	for s.owner != nil {
		s = s.owner
	}
	return s
}

// release drops what only execution and its failure need: a request has very many
// steps. Creates nested in an update still read the outcome of its command.
func (s *step) release() {
	s.fields, s.args = nil, nil
	if s.command != nil {
		s.command.Changes, s.command.Args = nil, nil
	}
	if s.kind == kindCreate {
		s.command = nil
	}
}

// printsNode reports whether answers show the command as written. Of the steps that
// one command becomes, each shows its own part else: looking through the whole
// command for each of them takes minutes for a long list.
func (s *step) printsNode() bool {
	return s.asWritten || s.kind != kindCreate && (s.deferred || s.from.IsNull())
}

// takesSeveral reports whether an attribute of the step's asset takes several
// values; false while its type is unknown.
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

// label returns the step's alias, generated at the first call.
func (s *step) label() string {
	if s.alias == "" {
		s.alias = "@" + uuid.NewString() + s.suffix
	}
	return s.alias
}
