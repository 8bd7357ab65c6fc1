package bulk

import (
	"context"
	"strings"

	"github.com/alds-dev/alds/internal/doc"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/oid"
)

// later resolves an update or operation whose turn has come.
func (p *processing) later(ctx context.Context, s *step) error {
	s.deferred = false
	written := s.node
	pr := &projection{Engine: p.Engine, q: p.q, who: p.actor(), aliases: p.aliases, alias: p.alias, most: p.res.cfg.maxAffected}
	c := &command{index: s.index, alias: s.alias, node: s.node, kind: s.kind}
	from, _ := target(s.node)
	if strings.HasPrefix(from.Text, "@") && plain(s.node) {
		h, ok := p.s.Handle(from.Text)
		if !ok {
			return p.unknown(ctx, pr, s, from)
		}
		s.handle, s.typ = h, h.Type
		pr.expand(c, s, oid.OID{})
	} else {
		if err := p.flush(ctx); err != nil {
			return err
		}
		if err := p.find(ctx, pr, c, s, from); err != nil {
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

// unknown fails a command on an alias that nothing has: an operation once for
// each item of its list, as it does on an Oid that nothing has.
func (p *processing) unknown(ctx context.Context, pr *projection, s *step, from *doc.Node) error {
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

// find projects a deferred command against the data as it is now.
func (p *processing) find(ctx context.Context, pr *projection, c *command, s *step, from *doc.Node) error {
	node, err := p.addressed(s.node)
	if err != nil {
		s.err, s.deferred = err, true
		pr.steps = append(pr.steps, s)
		return nil
	}
	if plain(s.node) && strings.Contains(from.Text, ":") {
		if err := pr.one(c, s, from); err != nil {
			return err
		}
		return pr.lookUp(ctx)
	}
	s.node, c.node = node, node
	if err := pr.many(ctx, c, s); err != nil {
		return err
	}
	return pr.lookUp(ctx)
}
