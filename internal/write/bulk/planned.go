package bulk

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/write/asset"
)

// Planned is a request that can be executed in a session of the write engine. A plan executes it twice: first
// to show its effect, and later to write it.
type Planned struct {
	e   *Engine
	who auth.Actor
	p   payload
}

// Plan parses a request.
// Errors: those of parse; fault.Invalid if the request has a password, because it would be stored.
func (e *Engine) Plan(who auth.Actor, r Request) (*Planned, error) {
	p, err := e.parse(who, r)
	if err != nil {
		return nil, err
	}
	for i := range p.commands {
		if n := p.commands[i].node; has(n, e.assets.IsSecret) || has(n, isOldPassword) {
			return nil, fault.Invalidf(n.At, "A plan cannot set passwords, because it is stored.")
		}
	}
	return &Planned{e, who, p}, nil
}

// Imports reports whether the request is an import.
func (p *Planned) Imports() bool { return p.p.cfg.imports }

// Carried is what the execution of a request has given.
type Carried struct {
	Answer   []byte // the response object
	Commands []byte // the projected commands, as a preview lists them
	Failures []byte // the failed commands with their errors, as the response object lists them
	Failed   int
	Note     func(ctx context.Context) // records the denied commands and counts the request; to be called after the commit
}

// Carry executes the request in a session. id is the request id of the answer.
// Errors: those of Run; asset.ErrRollback, with a result, if a command of an atomic request has failed.
func (p *Planned) Carry(ctx context.Context, s *asset.Session, id string) (c Carried, err error) {
	res := newResult(id, p.e.now(), p.p, p.e.MaxShown)
	res.stored, res.isSecret = true, p.e.assets.IsSecret
	c.Answer, err = p.e.carryOut(ctx, s, p.who, p.p, res, func(steps []*step) error {
		items, err := previewItems(steps, p.p.maxShown(p.e.MaxShown))
		c.Commands = appendItems(items, nil)
		res.maxShown = p.p.maxShown(p.e.MaxShown) - len(c.Commands)
		return err
	})
	c.Failures, c.Failed = res.failures, res.failed
	c.Note = func(ctx context.Context) {
		p.e.noteDenials(ctx, p.who, res)
		p.e.metrics.count(res, p.e.now().Sub(res.began))
	}
	return c, err
}
