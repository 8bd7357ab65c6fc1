package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// loadPasts reads what the Undo commands take back, and adds the data that they need.
func (p *prefetch) loadPasts(ctx context.Context, l *loaded) error {
	if err := l.loadPasts(ctx, p.undone); err != nil {
		return err
	}
	p.collectPasts(l)
	return l.foreseeTargets(ctx, p.undone)
}

// foreseeTargets calls loadSeen for the assets of Undo commands whose types have a rule.
func (l *loaded) foreseeTargets(ctx context.Context, all []undoing) error {
	var ruled ruledAssets
	for _, u := range all {
		if w := l.rows[u.id]; w != nil && !w.typ.Seen.IsZero() {
			ruled.add(u.id, w.typ)
		}
	}
	if l.s.who.All || len(ruled.ids) == 0 {
		return nil
	}
	slices.Sort(ruled.ids)
	return l.loadSeen(ctx, ruled.types, ruled.ids)
}

// collectPasts adds the assets to which the pasts refer, and the other data that the commands need.
func (p *prefetch) collectPasts(l *loaded) {
	for _, u := range p.undone {
		past := l.pasts[u.id]
		if past == nil {
			continue
		}
		if past.made || past.state.was == meta.StateDeleted {
			p.owners = append(p.owners, u.id)
		}
		if past.state.left == meta.StateDeleted {
			p.deleted = append(p.deleted, u.id)
		}
		for _, v := range past.values {
			if v.attr.Place.Kind == meta.InLinks {
				p.addEdges(edgeCode(v.attr), u.typ, u.id)
			}
			if p.layout.hasDependents(u.typ, v.attr) {
				p.sources = append(p.sources, u.id)
			}
			if v.attr.Kind != meta.Relation {
				continue
			}
			for _, id := range [...]any{v.was, v.left} {
				if id != nil {
					p.addReference(id.(int64), p.layout.follows(u.typ, v.attr))
				}
			}
		}
		for _, link := range past.links {
			switch link.attr.Place.Kind {
			case meta.InLinksBack:
				p.addReference(link.other, true)
				p.reverseLinks[link.attr.Place.Code] = append(p.reverseLinks[link.attr.Place.Code], link.other)
			case meta.InLinks:
				p.addReference(link.other, p.layout.follows(u.typ, link.attr))
				p.addEdges(edgeCode(link.attr), u.typ, u.id)
			default:
				p.addEdges(edgeCode(link.attr), u.typ, u.id)
			}
		}
	}
}
