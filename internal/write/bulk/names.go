package bulk

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/write/asset"
)

// checkNames checks the names of attributes and operations in a command that found no asset.
// Without this check, a misspelled name would go unnoticed until an asset matches. The parameter
// from is the value of the key from or oid of the command.
// Errors: fault.Invalid for a name that exists neither in the type that this value names nor in a
// type below that type.
func (p *projection) checkNames(s *step, from *document.Node) error {
	name, _, _ := strings.Cut(from.Text, ":")
	t, ok := p.assets.Model().Type(name)
	if !ok {
		return nil // the query refuses an unknown type
	}
	if s.kind == kindExecute {
		return checkOperation(s, t)
	}
	update, _ := s.node.Get("update")
	if update.Kind != document.Map {
		return badForm(update.At, "update", "an object of attributes and values")
	}
	for i, name := range update.Keys {
		has := func(t *meta.Type) bool { _, ok := t.Attr(name); return ok }
		if !slices.ContainsFunc(t.Concrete, has) {
			return fault.Placed(query.UnknownAttribute(t.Name, name), update.Items[i].At)
		}
	}
	return nil
}

func checkOperation(s *step, t *meta.Type) error {
	n, _ := s.node.Get("execute")
	var read step
	if _, err := readOperation(&read, n); err != nil {
		return err
	}
	has := func(t *meta.Type) bool { _, ok := t.Op(read.op); return ok }
	if slices.ContainsFunc(t.Concrete, has) {
		return nil
	}
	return asset.UnknownOp(t.Name, read.op)
}
