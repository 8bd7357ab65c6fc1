package bulk

import (
	"context"
	"strings"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
)

// resolveDeferred turns a deferred update or operation into steps and executes them. The command
// is deferred because it names an alias, and the asset of the alias may exist by now.
func (p *executor) resolveDeferred(ctx context.Context, s *step) error {
	s.deferred = false
	written := s.node
	pr := &projection{
		Engine: p.Engine, q: p.q, who: p.actor(), aliases: p.aliases, alias: p.alias,
		maxAffected: p.res.cfg.maxAffected, taken: p.assetCount, listed: p.listed, s: p.s,
	}
	c := &command{index: s.index, alias: s.alias, node: s.node, kind: s.kind}
	from, _ := target(s.node)
	if strings.HasPrefix(from.Text, "@") && isAddressOnly(s.node) {
		h, ok := p.s.Handle(from.Text)
		if !ok {
			return p.failUnknown(ctx, pr, s, from)
		}
		if err := pr.reserve(1, stepsOf(s.node), listedInUpdate(s.node)); err != nil {
			return err
		}
		s.handle, s.typ = h, h.Type
		pr.expand(c, s, oid.OID{})
	} else {
		if err := p.flush(ctx); err != nil {
			return err
		}
		pr.who = p.actor() // flush may have changed which projects the actor sees
		if err := p.project(ctx, pr, c, s, from); err != nil {
			return err
		}
	}
	p.define(pr.steps)
	for _, each := range pr.steps {
		if each.node == c.node {
			each.node = written
		}
		if err := p.step(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// failUnknown reports a failure of a command that names an undefined alias. An operation with a
// list fails once per item, in the same way as for an Oid that does not exist.
func (p *executor) failUnknown(ctx context.Context, pr *projection, s *step, from *document.Node) error {
	pr.steps = []*step{s}
	if s.kind == kindExecute {
		pr.steps = nil
		pr.operation(s)
	}
	for _, each := range pr.steps {
		if each.err == nil {
			each.err = fault.Placed(oid.Invalid(from.Text), from.At)
		}
		each.deferred = true
		if err := p.step(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// project finds the assets of a deferred command in the current data. It adds the steps for these
// assets to pr.
func (p *executor) project(ctx context.Context, pr *projection, c *command, s *step, from *document.Node) error {
	node, err := p.withFrom(s.node)
	if err != nil {
		s.err, s.deferred = err, true
		pr.steps = append(pr.steps, s)
		return nil
	}
	if isAddressOnly(s.node) && strings.Contains(from.Text, ":") {
		if err := pr.expandOne(c, s, from); err != nil {
			return err
		}
		return pr.lookUp(ctx)
	}
	s.node, c.node = node, node
	if err := pr.expandQuery(ctx, c, s); err != nil {
		return err
	}
	return pr.lookUp(ctx)
}
