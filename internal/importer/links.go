package importer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// resolve sets the values that refer to other assets: the project, relations by name, links
// by key, and comments.
func (r *run) resolve(ctx context.Context, b *batch, q *request, e entry, values map[string]any) error {
	t, err := r.model.of(ctx, e.Type)
	if err != nil {
		return err
	}
	placed := !e.exists || len(e.Project) > 0 || slices.Contains(e.Cleared, "Scope")
	if scope, ok := t.attributes["Scope"]; ok && !scope.IsReadOnly && values["Scope"] == nil && placed {
		at, err := r.resolver.project(ctx, e.Project)
		if err != nil {
			return err
		}
		if at != "" {
			values["Scope"] = at
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Names)) {
		v, err := r.resolver.relation(ctx, e.Type, name, e.Names[name])
		if err != nil {
			return err
		}
		if v != nil || e.exists {
			values[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Links)) {
		if err := r.link(ctx, b, q, e, name, e.Links[name], values); err != nil {
			return err
		}
	}
	if len(e.Remarks) == 0 || e.exists {
		return nil
	}
	values[expressions], err = r.remarks(ctx, e.item, q)
	return err
}

// link sets a relation to other records. For a record in the same batch, it uses the alias of that
// record. If l.Later is true and a record does not exist yet, link adds the link to the entry, to
// be set at the end. In a dry run, the records of earlier requests do not exist in the database, so
// link creates them again in this request.
func (r *run) link(
	ctx context.Context, b *batch, q *request, e entry, name string, l links, values map[string]any,
) error {
	root, err := r.target(ctx, e.Type, name)
	if err != nil {
		return err
	}
	var refs []any
	unmade := false // a dry run cannot create the record of a link
	for _, key := range l.Keys {
		ref, known, err := r.ref(ctx, b, q, e, root, key)
		if err == nil && known && l.MayLack {
			known, err = r.fits(ctx, b, e, name, root, key)
		}
		switch {
		case err != nil:
			return err
		case known && ref != "":
			refs = append(refs, ref)
		case known:
			unmade = true
		case l.Later:
			b.entries[e.at].lacks = append(b.entries[e.at].lacks, lack{name, root, key, l.MayLack})
		case !r.final && r.isWaiting(root, key):
			return errWaits
		case l.MayLack:
			r.resolver.leftOut[e.Type+"."+name+" "+key]++
		default:
			return problemf("%s: no record and no asset has the key %s", name, key)
		}
	}
	switch {
	case len(refs) == 1:
		values[name] = refs[0]
	case len(refs) > 1:
		values[name] = refs
	case e.exists && !unmade:
		values[name] = nil
	}
	return nil
}

// errWaits means that a record links to a record that was postponed.
var errWaits = errors.New("the record links to a record that was postponed")

// fits reports whether a relation allows the type of the asset or entry that has a key. The asset
// or entry must exist.
func (r *run) fits(ctx context.Context, b *batch, e entry, name, root, key string) (bool, error) {
	if a, ok := r.index.named(root, key); ok {
		return r.model.takes(ctx, e.Type, name, r.index.typeOf(a))
	}
	n, _ := b.position(root, key)
	return r.model.takes(ctx, e.Type, name, b.entries[n].Type)
}

// ref returns the Oid of the asset that has a key, or the alias of an earlier entry that has the
// key. known is false if there is neither. If known is true and ref is empty, a dry run cannot
// create the asset.
func (r *run) ref(
	ctx context.Context, b *batch, q *request, e entry, root, key string,
) (ref string, known bool, err error) {
	if a, ok := r.index.named(root, key); ok {
		if a.id == 0 {
			ref, err = r.stub(ctx, q, a, digestOf(root, key), e.Project)
			return ref, true, err
		}
		return r.index.oid(a), true, nil
	}
	if n, ok := b.position(root, key); ok && n < e.at && b.entries[n].Key != "" {
		b.entries[e.at].on = append(b.entries[e.at].on, n)
		return alias(n), true, nil
	}
	return "", false, nil
}

// stub adds a command to a request of a dry run. The command creates an asset again, because the
// earlier request that created it was rolled back. stub returns the alias of the asset. It returns
// "" if the asset cannot be created with only a name and a project.
func (r *run) stub(ctx context.Context, q *request, a asset, d digest, project []string) (string, error) {
	t, err := r.model.of(ctx, r.index.typeOf(a))
	if err != nil {
		return "", err
	}
	scope, err := r.resolver.project(ctx, project)
	if at, ok := t.attributes["Scope"]; err != nil || !ok || at.IsReadOnly || scope == "" {
		return "", err
	}
	stub := fmt.Sprintf("@stub%x", d)
	if !q.stubs[stub] {
		q.stubs[stub] = true
		q.add(map[string]any{stub: map[string]any{"AssetType": r.index.typeOf(a), "Name": "x", "Scope": scope}}, -1)
	}
	return stub, nil
}

// target returns the type among whose assets a relation looks for keys. It is the root (index.root)
// of the type to which the relation refers.
func (r *run) target(ctx context.Context, typ, name string) (string, error) {
	related, err := r.model.related(ctx, typ, name)
	if err != nil {
		return "", err
	}
	return r.index.root(ctx, related)
}

// remarks returns the comments of a record as new expressions. Each expression begins a new
// conversation.
func (r *run) remarks(ctx context.Context, it item, q *request) ([]any, error) {
	var all []any
	for _, c := range it.Remarks {
		x := map[string]any{
			"AssetType": "Expression", "Content": c.Text,
			"BelongsTo": map[string]any{"AssetType": "Conversation"},
		}
		if c.At != "" && !r.o.WithoutDates {
			x["AuthoredAt"], x["CreateDate"], x["ChangeDate"] = c.At, c.At, c.At
			q.imports = true
		}
		if c.Author != "" {
			author, err := r.resolver.relation(ctx, "Expression", "Author", names{
				Candidates: [][]string{{c.Author}}, Unknown: r.mapping.Comments.Unknown, Create: r.mapping.Comments.Create,
			})
			if err != nil {
				return nil, err
			}
			if x["Author"] = author; author == nil {
				delete(x, "Author")
				x["Content"] = c.bySomebody()
			}
		}
		all = append(all, x)
	}
	return all, nil
}
