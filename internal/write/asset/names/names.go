package names

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/scopes"
)

// Space is a set of assets among which a name is looked up. It contains all assets of a type, or
// only the assets to which a relation may refer. Spaces are comparable.
type Space struct {
	typ      *meta.Type
	relation *meta.Attr // nil: all assets of typ
}

// SpacesOf returns the spaces in which a name is looked up as a value of a relation, in the order of
// the lookup.
func SpacesOf(a *meta.Attr) []Space {
	switch {
	case a.Among != nil:
		all := make([]Space, len(a.Among))
		for i, t := range a.Among {
			all[i].typ = t
		}
		return all
	case a.Targets != nil:
		return []Space{{a.Related, a}}
	}
	return []Space{{typ: a.Related}}
}

// types returns the types of the assets in the space.
func (s Space) types() []*meta.Type {
	if s.relation != nil {
		return s.relation.Targets
	}
	return s.typ.Concrete
}

// Meant is the result of a lookup of a name. If neither One nor Several is true, no asset has the name.
type Meant struct {
	ID      int64 // id of the asset, if One is true
	One     bool  // exactly one asset has the name
	Several bool  // several assets have the name
}

// Hit is an asset with a text that may match a name.
type Hit struct {
	ID    int64
	Type  *meta.Type
	Scope *int64 // the project of the asset; nil: none

	text string
}

// Finder looks up names for one caller.
type Finder struct {
	Tx    *db.Tx
	Model *meta.Model
	Who   auth.Actor
	// Seen removes the assets that the caller may not see from the list all, and returns the rest.
	// types contains the types of the assets.
	Seen func(ctx context.Context, types []*meta.Type, all []Hit) ([]Hit, error)
}

// Find looks up names in a space. It ignores deleted assets and assets that the caller may not
// see. If no asset has a name in one attribute, Find looks up the name in the next attribute. The
// result has an entry for each name.
func (f *Finder) Find(ctx context.Context, in Space, names []string) (map[string]Meant, error) {
	all := make(map[string]Meant, len(names))
	left := names
	for _, a := range lookupAttrs(in.typ) {
		found, err := f.assetsNamed(ctx, in.types(), a, left)
		if err != nil {
			return nil, fmt.Errorf("look up %s: %w", a.Token(), err)
		}
		var next []string
		for _, name := range left {
			ids := matching(found, name, a)
			switch len(ids) {
			case 0:
				next = append(next, name)
			case 1:
				all[name] = Meant{ID: ids[0], One: true}
			default:
				all[name] = Meant{Several: true}
			}
		}
		if left = next; len(left) == 0 {
			return all, nil
		}
	}
	for _, name := range left {
		all[name] = Meant{}
	}
	return all, nil
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

// matching returns the ids of the hits for a name: hits with exactly the same text, or, if there
// are none, hits with the same folded form.
func matching(found []Hit, name string, a *meta.Attr) []int64 {
	full := tag(a, name)
	folded, foldedFull := folding.Of(name), folding.Of(full)
	var exact, alike []int64
	for _, h := range found {
		switch {
		case h.text == name || h.text == full:
			exact = append(exact, h.ID)
		case folding.Is(h.text, folded) || folding.Is(h.text, foldedFull):
			alike = append(alike, h.ID)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return alike
}

// tag returns the text that attribute a stores for a name. If its kind is LocalizerTag, the text
// is a localization tag, such as Role.Name'Observer for Observer; else the text is the name itself.
func tag(a *meta.Attr, name string) string {
	if a.Kind == meta.LocalizerTag {
		return a.Token() + "'" + name
	}
	return name
}

// assetsNamed returns the assets of some types whose attribute has the same folded form as one of
// the names. It leaves out deleted assets and assets that the caller may not see.
func (f *Finder) assetsNamed(ctx context.Context, types []*meta.Type, a *meta.Attr, names []string) ([]Hit, error) {
	expr, dialect := a.Place.Column, f.Tx.Dialect()
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

	var found []Hit
	for in, args := range db.InChunks(wanted) {
		query := `SELECT id, type, scope_id, ` + expr + ` FROM asset WHERE type IN ` + typeIn +
			` AND state < 255 AND NOT ` + scopes.IsHidden(f.Who) + ` AND ` + before + expr + after + ` IN ` + in + ` ORDER BY id`
		err := db.Each(ctx, f.Tx, query, slices.Concat(typeArgs, args), func(scan db.Scanner) error {
			var h Hit
			var code int
			err := scan.Scan(&h.ID, &code, &h.Scope, &h.text)
			h.Type, _ = f.Model.TypeByCode(code)
			found = append(found, h)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return f.Seen(ctx, types, found)
}
