package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/scopes"
)

// resolver finds the assets that values and commands name.
type resolver struct {
	unit
	rules *rules
	named map[nameKey]named
}

// nameKey is a name and the namespace in which it is looked up.
type nameKey struct {
	in   namespace
	name string
}

// namespace is a set of assets among which a name is looked up. It contains all assets of a
// type, or only the assets to which a relation may refer.
type namespace struct {
	typ      *meta.Type
	relation *meta.Attr // nil: all assets of typ
}

// namespacesOf returns the namespaces in which a name is looked up as a value of a relation, in
// the order of the lookup.
func namespacesOf(a *meta.Attr) []namespace {
	switch {
	case a.Among != nil:
		all := make([]namespace, len(a.Among))
		for i, t := range a.Among {
			all[i].typ = t
		}
		return all
	case a.Targets != nil:
		return []namespace{{a.Related, a}}
	}
	return []namespace{{typ: a.Related}}
}

// concrete returns the types of the assets in the namespace.
func (n namespace) concrete() []*meta.Type {
	if n.relation != nil {
		return n.relation.Targets
	}
	return n.typ.Concrete
}

// named is the result of a lookup of a name.
type named struct {
	id      int64 // of the asset, if one is true
	one     bool  // exactly one asset has the name
	several bool  // several assets have the name
}

// byName returns the asset that a name means as a value of a. It looks the name up in one
// namespace after another, and in each namespace by one attribute after another, until it finds
// assets. It ignores deleted assets and assets that the caller does not see. It returns false
// if it finds no asset or several.
func (r *resolver) byName(ctx context.Context, a *meta.Attr, name string) (target, bool, error) {
	for _, in := range namespacesOf(a) {
		key := nameKey{in, name}
		meant, done := r.named[key]
		if !done {
			if err := r.lookupNames(ctx, in, []string{name}); err != nil {
				return target{}, false, err
			}
			meant = r.named[key]
		}
		switch {
		case meant.one:
			return r.loaded.find(ctx, meant.id)
		case meant.several:
			return target{}, false, nil
		}
	}
	db.Missed(r.s.tx)
	return target{}, false, nil
}

// lookupNames looks names up in a namespace and stores the results in r.named. Names that no
// asset has in one lookup attribute are looked up in the next.
func (r *resolver) lookupNames(ctx context.Context, in namespace, all []string) error {
	left := all
	for _, a := range lookupAttrs(in.typ) {
		found, err := r.assetsNamed(ctx, in.concrete(), a, left)
		if err != nil {
			return fmt.Errorf("look up %s: %w", a.Token(), err)
		}
		var next []string
		for _, name := range left {
			ids := matching(found, name, a)
			switch len(ids) {
			case 0:
				next = append(next, name)
			case 1:
				r.named[nameKey{in, name}] = named{id: ids[0], one: true}
			default:
				r.named[nameKey{in, name}] = named{several: true}
			}
		}
		if left = next; len(left) == 0 {
			return nil
		}
	}
	for _, name := range left {
		r.named[nameKey{in, name}] = named{}
	}
	return nil
}

// lookupAttrs returns the attributes in which names of assets of a type are looked up, in the
// order of the lookup.
func lookupAttrs(t *meta.Type) []*meta.Attr {
	var all []*meta.Attr
	for _, name := range t.ResolveBy {
		if a, ok := t.Attr(name); ok && (a.Place.Kind == meta.InColumn || a.Place.Kind == meta.InAttrs) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		if a, ok := t.Attr("Name"); ok && a.Place.Kind == meta.InColumn {
			all = append(all, a)
		}
	}
	return all
}

// nameHit is an asset with a text that may match a name.
type nameHit struct {
	id   int64
	typ  *meta.Type
	text string
}

// matching returns the ids of the hits for a name: hits with exactly the same text, or, if there
// are none, hits with the same folded form.
func matching(found []nameHit, name string, a *meta.Attr) []int64 {
	full := tag(a, name)
	folded, foldedFull := folding.Of(name), folding.Of(full)
	var exact, alike []int64
	for _, h := range found {
		switch {
		case h.text == name || h.text == full:
			exact = append(exact, h.id)
		case folding.Is(h.text, folded) || folding.Is(h.text, foldedFull):
			alike = append(alike, h.id)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return alike
}

// tag returns the text that attribute a stores for a name. If its kind is LocalizerTag, the text
// is a localization tag, such as Role.Name'Observer for Observer; else it is the name.
func tag(a *meta.Attr, name string) string {
	if a.Kind == meta.LocalizerTag {
		return a.Token() + "'" + name
	}
	return name
}

// assetsNamed returns the assets of some types whose attribute has the same folded form as one
// of the names. It leaves out deleted assets and assets that the caller does not see.
func (r *resolver) assetsNamed(
	ctx context.Context, types []*meta.Type, a *meta.Attr, names []string,
) ([]nameHit, error) {
	expr, dialect := a.Place.Column, r.s.e.db.Dialect
	if a.Place.Kind == meta.InAttrs {
		expr = dialect.JSONText("attrs", a.Place.Column)
	}
	before, after := dialect.Folded(dialect.JSONText("folded", a.Place.Column))
	codes := make([]int64, 0, len(types))
	for _, c := range types {
		codes = append(codes, int64(c.Code))
	}
	typeIn, typeArgs := db.InArgs(codes)
	wanted := make([]string, 0, 2*len(names))
	for _, name := range names {
		wanted = append(wanted, folding.Of(name))
		if full := tag(a, name); full != name {
			wanted = append(wanted, folding.Of(full))
		}
	}

	var found []nameHit
	for in, args := range db.InChunks(wanted) {
		query := `SELECT id, type, scope_id, ` + expr + ` FROM asset WHERE type IN ` + typeIn +
			` AND state < 255 AND NOT ` + scopes.IsHidden(r.s.Who()) + ` AND ` + before + expr + after + ` IN ` + in + ` ORDER BY id`
		err := db.Each(ctx, r.s.tx, query, slices.Concat(typeArgs, args), func(scan db.Scanner) error {
			var h nameHit
			var code int
			var scope *int64
			err := scan.Scan(&h.id, &code, &scope, &h.text)
			h.typ, _ = r.s.e.model.TypeByCode(code)
			if err == nil && (!h.typ.Seen.IsZero() || scope == nil || r.rules.seesScope(scope)) {
				found = append(found, h)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return r.onlySeen(ctx, types, found)
}

// onlySeen removes assets that the caller does not see by the rule of their type
// (meta.Type.Seen).
func (r *resolver) onlySeen(ctx context.Context, types []*meta.Type, found []nameHit) ([]nameHit, error) {
	var ids []int64
	for _, h := range found {
		if !h.typ.Seen.IsZero() {
			ids = append(ids, h.id)
		}
	}
	if len(ids) == 0 {
		return found, nil
	}
	if err := r.loaded.loadSeen(ctx, types, ids); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(h nameHit) bool {
		return !h.typ.Seen.IsZero() && !r.s.createdRuled[h.id] && !r.loaded.seen[h.id]
	}), nil
}
