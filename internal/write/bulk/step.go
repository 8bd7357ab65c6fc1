package bulk

import (
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/document"
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

// verb returns the name of the kind in the metrics.
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
	index  int // index of its command in the payload
	kind   kind
	alias  string // begins with @; if empty, label generates an alias
	suffix string // end of a generated alias

	node      *document.Node // the command as written
	deferred  bool           // true if the assets are found only when the step is executed
	inParent  bool           // nested in a create with an alias in the payload; a preview shows only that create
	asWritten bool           // a create with nested creates and an alias in the payload; a preview shows node

	typ     *meta.Type // type of the asset; nil while unknown
	fields  []field    // create, update: attributes in their order
	context asset.Ref  // create: the context; zero if there is none
	handle  *asset.Handle

	from oid.OID // update, execute: the asset; null while deferred
	op   string
	args []field

	ifMoment int64 // update, execute: the moment that the asset must have; 0: any

	parent  *step          // the parent of a nested create that comes after its parent
	owner   *step          // the parent of a nested create that comes before its parent
	command *asset.Command // command of the write engine; set by build
	deleted bool           // true if the asset is deleted and the command accepts deleted assets

	err     error // error with which the step fails when it is executed; nil if there is none
	noMatch bool  // true if the step matches no asset and is left out
}

// isLeftOut reports whether a step matches no asset, or is nested in a step that is left out.
func (s *step) isLeftOut() bool {
	return s.noMatch || s.parent != nil && s.parent.isLeftOut() || s.owner != nil && s.owner.isLeftOut()
}

// whole returns the last step of the group of s. A group is a step and the nested creates that
// come before it; they succeed or fail together.
func (s *step) whole() *step {
	for s.owner != nil {
		s = s.owner
	}
	return s
}

// release drops the values of an executed step, because a request may have very many steps. A
// create nested in an update still needs the command of the update.
func (s *step) release() {
	s.fields, s.args = nil, nil
	if s.command != nil {
		s.command.Changes, s.command.Args = nil, nil
	}
	if s.kind == kindCreate {
		s.command = nil
	}
}

// printsNode reports whether the command of a step is shown as written. If a command has several
// steps, each step shows only its own part. Otherwise the whole command would be searched for
// secrets for each item of a long list, which would take minutes.
func (s *step) printsNode() bool {
	return s.asWritten || s.kind != kindCreate && (s.deferred || s.from.IsNull())
}

// takesSeveral reports whether an attribute of the step's asset has several values. It returns
// false while the type of the asset is unknown.
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
	node *document.Node
}

// autoSuffix is the end of the generated alias of a create.
const autoSuffix = "$auto-aliased"

// label returns the alias of a step. If there is none, it generates one.
func (s *step) label() string {
	if s.alias == "" {
		s.alias = "@" + uuid.NewString() + s.suffix
	}
	return s.alias
}
