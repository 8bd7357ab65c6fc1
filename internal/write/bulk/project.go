package bulk

import (
	"context"
	"errors"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	"github.com/alds-dev/alds/internal/write/asset"
)

// projection turns commands into steps. It finds the assets of a command in the data at the time
// of the projection. The executor uses another projection for each deferred step.
type projection struct {
	*Engine
	q           db.Querier
	who         auth.Actor
	aliases     map[string]bool                // all aliases that the payload defines
	alias       func(name string) (oid string) // returns the Oid token of an alias; nil before execution
	maxAffected int                            // maximum number of assets that one command may affect; 0: any number
	taken       int                            // number of steps of the request that are not in the field steps
	listed      *listed                        // count of the list values of the request so far
	s           *asset.Session                 // nil if nothing is written
	steps       []*step
	found       []foundSteps // queries and their steps since the last call of lockFound
}

// project returns the steps of commands, in the order of execution.
func (p *projection) project(ctx context.Context, commands []command) ([]*step, error) {
	p.aliases, p.steps = aliasesOf(commands), make([]*step, 0, len(commands))
	for i := range commands {
		if err := p.command(ctx, &commands[i]); err != nil {
			return nil, err
		}
		if len(p.steps) > p.MaxAssets {
			return nil, asset.TooManyAssets(p.MaxAssets)
		}
		if err := ctx.Err(); err != nil {
			return nil, sqlerror.Fault(err)
		}
	}
	if err := p.lookUp(ctx); err != nil {
		return nil, err
	}
	return p.steps, nil
}

func (p *projection) command(ctx context.Context, c *command) error {
	switch {
	case c.err != nil:
		s := &step{index: c.index, kind: c.kind, alias: c.alias, node: c.node, deferred: true, err: c.err}
		p.steps = append(p.steps, s)
	case c.kind == kindConfig:
	case c.kind == kindCreate:
		if err := p.reserve(1, 1+createsIn(c.node), listedIn(c.node)); err != nil {
			return err
		}
		before := len(p.steps)
		s := p.create(c, c.node, c.alias, asset.Ref{}, false)
		s.asWritten = c.alias != "" && len(p.steps) > before+1
	case c.kind == kindQuery:
		p.steps = append(p.steps, &step{index: c.index, kind: kindQuery, alias: c.alias, node: c.node, deferred: true})
	default:
		return p.projectChange(ctx, c)
	}
	return nil
}

// create adds the step of a create, then the steps of the creates nested in it, depth first. A
// create nested in a to-one relation comes before its parent.
func (p *projection) create(c *command, n *document.Node, alias string, context asset.Ref, inParent bool) *step {
	s := &step{
		index: c.index, kind: kindCreate, alias: alias, node: n, context: context, inParent: inParent, suffix: autoSuffix,
	}
	s.handle = &asset.Handle{Alias: alias, Name: s.label}
	p.typeOf(s)
	s.handle.Type = s.typ
	s.fields = make([]field, 0, len(n.Keys))
	var children []nested
	for i, name := range n.Keys {
		switch name {
		case "AssetType":
		case "#ContextOid":
			s.context = p.contextOf(&n.Items[i])
		default:
			f, more := p.splitNested(s, field{name, &n.Items[i]}, c, inParent || c.alias != "")
			children = append(children, more...)
			if f.node != nil {
				s.fields = append(s.fields, f)
			}
		}
	}
	p.steps = append(p.steps, s)
	for _, child := range children {
		p.nested(c, s, child, inParent || c.alias != "")
	}
	return s
}

func (p *projection) typeOf(s *step) {
	n, _ := s.node.Get("AssetType")
	t, ok := p.assets.Model().Type(n.Text)
	switch {
	case n.Kind != document.String || !ok:
		s.err = fault.Placed(asset.UnknownType(n.Text), n.At)
	case !asset.IsCreatable(t):
		s.err = fault.Placed(asset.AbstractType(t.Name), n.At)
	default:
		s.typ = t
	}
}

// contextOf reads the "#ContextOid" of a failed command that is sent again.
func (p *projection) contextOf(n *document.Node) asset.Ref {
	ref := asset.Ref{Token: n.Text}
	if o, err := oid.Parse(n.Text); err == nil {
		ref.OID = o
	}
	return ref
}

// projectChange projects an update or an operation. If the command depends on an alias, the
// command is deferred.
func (p *projection) projectChange(ctx context.Context, c *command) error {
	s := &step{index: c.index, kind: c.kind, alias: c.alias, node: c.node}
	from, direct := target(c.node)
	switch {
	case from.Kind != document.String:
		s.err, s.deferred = badForm(from.At, "from", "text"), true
	case c.alias != "" && !direct || strings.HasPrefix(from.Text, "@") ||
		namesAlias(c.node, p.aliases) || comparesAlias(c.node, p.aliases):
		s.deferred = true
	case isAddressOnly(c.node) && strings.Contains(from.Text, ":"):
		return p.expandOne(c, s, from)
	default:
		return p.expandQuery(ctx, c, s)
	}
	p.steps = append(p.steps, s)
	return nil
}

// isAddressOnly reports whether the key from or oid is the only part of the query in a command.
func isAddressOnly(n *document.Node) bool {
	for _, k := range n.Keys {
		if k != "from" && k != "oid" && k != "update" && k != "execute" {
			return false
		}
	}
	return true
}

// target returns the value of the key from or oid of a command. direct is true if the key is oid.
// Projected commands have the key oid, which may name a deleted asset.
func target(n *document.Node) (from *document.Node, direct bool) {
	if from, direct = n.Get("oid"); !direct {
		from, _ = n.Get("from")
	}
	return from, direct
}

// expandOne projects a command on the one asset that an Oid token names. It does not check that
// the asset exists. lookUp checks this for all steps together.
func (p *projection) expandOne(c *command, s *step, from *document.Node) error {
	o, err := oid.Parse(from.Text)
	if err != nil {
		s.err, s.deferred = fault.Placed(err, from.At), true
		p.steps = append(p.steps, s)
		return nil
	}
	if err := p.reserve(1, stepsOf(c.node), listedInUpdate(c.node)); err != nil {
		return err
	}
	p.expand(c, s, o.Now())
	return nil
}

// expandQuery projects a command on all assets that its query finds.
func (p *projection) expandQuery(ctx context.Context, c *command, s *step) error {
	r, err := query.FromDoc(c.node, "update", "execute")
	r.Alias = p.alias
	var found []oid.OID
	if err == nil {
		found, err = p.ids(ctx, p.q, p.who, r)
	}
	if err == nil && p.maxAffected > 0 && len(found) > p.maxAffected {
		err = affectsTooMany(len(found), p.maxAffected)
	}
	if err == nil && len(found) == 0 {
		from, _ := target(c.node)
		err = p.checkNames(s, from)
	}
	if err != nil {
		if !isCommandFailure(err) {
			return err
		}
		s.err, s.deferred = err, true
		p.steps = append(p.steps, s)
		return nil
	}
	if err := p.reserve(len(found), stepsOf(c.node), listedInUpdate(c.node)); err != nil {
		return err
	}
	before := len(p.steps)
	for i, o := range found {
		each := s
		if i > 0 {
			each = &step{index: s.index, kind: s.kind, node: s.node}
		}
		p.expand(c, each, o)
	}
	p.found = append(p.found, foundSteps{r, p.steps[before:len(p.steps):len(p.steps)]})
	return nil
}

// reserve checks the limits of the request before the steps of a command are made. The parameter
// each is the number of steps per asset, and values is the number of list values per asset.
// Errors: asset.TooManyAssets, asset.TooManyEdges.
func (p *projection) reserve(assets, each, values int) error {
	if each > 0 && assets > (p.MaxAssets-p.taken-len(p.steps))/each {
		return asset.TooManyAssets(p.MaxAssets)
	}
	return p.listed.take(assets, values)
}

// stepsOf returns the number of steps of a command on one asset. An operation has one step per
// item of its list. An update has one step, and one more for each create nested in it.
func stepsOf(n *document.Node) int {
	if op, ok := n.Get("execute"); ok {
		if list, ok := op.Get("list"); ok && op.Kind == document.Map && list.Kind == document.List {
			return len(list.Items)
		}
		return 1
	}
	update, _ := n.Get("update")
	return 1 + createsIn(update)
}

// createsIn counts the creates nested in a value.
func createsIn(n *document.Node) int {
	if n == nil {
		return 0
	}
	count := 0
	for i := range n.Items {
		if v := &n.Items[i]; !v.IsScalar() {
			if _, ok := v.Get("AssetType"); ok && v.Kind == document.Map {
				count++
			}
			count += createsIn(v)
		}
	}
	return count
}

// expand adds the steps of a command on one asset; see stepsOf. o is null if s.handle names the
// asset.
func (p *projection) expand(c *command, s *step, o oid.OID) {
	if s.from = o; !o.IsNull() {
		s.typ, _ = p.assets.Model().Type(o.Type)
	}
	if s.kind == kindExecute {
		p.operation(s)
		return
	}
	n, _ := s.node.Get("update")
	if n.Kind != document.Map {
		s.err, s.from, s.deferred = badForm(n.At, "update", "an object of attributes and values"), oid.OID{}, true
		p.steps = append(p.steps, s)
		return
	}
	var children []nested
	for i, name := range n.Keys {
		f, more := p.splitNested(s, field{name, &n.Items[i]}, c, false)
		children = append(children, more...)
		if f.node != nil {
			s.fields = append(s.fields, f)
		}
	}
	p.steps = append(p.steps, s)
	for _, child := range children {
		p.nested(c, s, child, false)
	}
}

// operation adds the steps of an operation on one asset.
func (p *projection) operation(s *step) {
	n, _ := s.node.Get("execute")
	lists, err := readOperation(s, n)
	if err != nil {
		s.err, s.from, s.deferred = err, oid.OID{}, true
		p.steps = append(p.steps, s)
		return
	}
	for i, args := range lists {
		each := s
		if i > 0 {
			each = &step{
				index: s.index, kind: s.kind, node: s.node, from: s.from, handle: s.handle, typ: s.typ, op: s.op,
			}
		}
		each.args = args
		p.steps = append(p.steps, each)
	}
}

// readOperation reads "Delete", {op, args} or {op, list}. It sets s.op and returns the
// arguments of each execution.
func readOperation(s *step, n *document.Node) ([][]field, error) {
	if n.Kind == document.String {
		s.op = n.Text
		return [][]field{nil}, nil
	}
	if n.Kind != document.Map {
		return nil, badForm(n.At, "execute", "the name of an operation, or op with args or list")
	}
	if list, ok := n.Get("list"); ok {
		if _, both := n.Get("args"); both {
			return nil, unknownKey(list.At, "root->execute", "list")
		}
	}
	var lists [][]field
	for i, k := range n.Keys {
		v := &n.Items[i]
		switch {
		case k == "op" && v.Kind == document.String:
			s.op = v.Text
		case k == "args" && v.Kind == document.Map:
			lists = append(lists, fieldsOf(v))
		case k == "args" && v.Kind == document.Null:
		case k == "list" && v.Kind == document.List:
			for j := range v.Items {
				if v.Items[j].Kind != document.Map {
					return nil, badForm(v.Items[j].At, "list", "objects of arguments")
				}
				lists = append(lists, fieldsOf(&v.Items[j]))
			}
			if len(v.Items) == 0 {
				return lists, nil
			}
		case k == "op" || k == "args" || k == "list":
			return nil, badForm(v.At, k, "its own form")
		default:
			return nil, unknownKey(v.At, "root->execute", k)
		}
	}
	if s.op == "" {
		return nil, badForm(n.At, "op", "the name of an operation")
	}
	if lists == nil {
		lists = [][]field{nil}
	}
	return lists, nil
}

func fieldsOf(n *document.Node) []field {
	all := make([]field, len(n.Keys))
	for i, k := range n.Keys {
		all[i] = field{k, &n.Items[i]}
	}
	return all
}

// isCommandFailure reports whether only the command with this error fails. Any other error makes
// the whole request fail.
func isCommandFailure(err error) bool {
	if errors.Is(err, db.ErrTurnRead) || errors.Is(err, db.ErrLockedRead) || errors.Is(err, asset.ErrReach) {
		return false
	}
	switch fault.KindOf(err) {
	case fault.Invalid, fault.NotFound, fault.Denied:
		return true
	}
	return false
}
