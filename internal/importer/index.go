package importer

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// digest is a hash of a key and of the type whose assets have the key. It has 16 bytes, however
// long the key is.
type digest [16]byte

// asset is an asset that has a key.
type asset struct {
	id    int64  // 0: a dry run has created the asset and rolled it back
	typ   uint16 // index of its type in index.names
	fresh bool   // created by this import
}

// index finds assets by their keys.
type index struct {
	client *client
	model  *model
	roots  map[string]bool   // types whose keys have been read
	names  []string          // names of types
	number map[string]uint16 // by name: its index in names
	assets map[digest]asset
}

func newIndex(c *client, m *model) *index {
	return &index{client: c, model: m, roots: map[string]bool{}, number: map[string]uint16{}, assets: map[digest]asset{}}
}

func digestOf(root, key string) digest {
	sum := sha256.Sum256([]byte(root + "\x00" + key))
	return digest(sum[:16])
}

// root returns the type that declares the attribute of keys for typ. Keys are unique among the
// assets of this type. On the first call for this type, root reads the keys of all these assets.
// Errors: a problem for a type without that attribute; errors of the service.
func (x *index) root(ctx context.Context, typ string) (string, error) {
	t, err := x.model.of(ctx, typ)
	if err != nil {
		return "", err
	}
	if t.keys == "" {
		return "", problemf("%s has no attribute %s for keys", typ, x.model.key)
	}
	if x.roots[t.keys] {
		return t.keys, nil
	}
	if err := x.load(ctx, t.keys); err != nil {
		return "", fmt.Errorf("read the keys of existing assets: %w", err)
	}
	x.roots[t.keys] = true
	return t.keys, nil
}

// load reads the keys of all assets of a type.
func (x *index) load(ctx context.Context, root string) error {
	query := map[string]any{"from": root, "select": []string{x.model.key}, "filter": []string{x.model.key + "!=''"}}
	for next, more := "", true; more; more = next != "" {
		query["page"] = map[string]any{"size": 10_000, "after": next}
		var err error
		if next, err = x.read(ctx, query, root, false); err != nil {
			return err
		}
	}
	return nil
}

// read runs a query and adds the keys of its rows. next is the cursor of the next page.
func (x *index) read(ctx context.Context, query map[string]any, root string, fresh bool) (next string, err error) {
	var rows []map[string]any
	next, err = x.client.query(ctx, query, &rows)
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		if key, ok := row[x.model.key].(string); ok {
			if err := x.add(root, keyOf(key), fmt.Sprint(row["_oid"]), fresh); err != nil {
				return "", err
			}
		}
	}
	return next, nil
}

// created adds the keys of assets that a request has created. It reads the keys from the service.
// oids are the Oids of all assets that the request has created. among has the items that the
// request may have created.
func (x *index) created(ctx context.Context, among []created, oids []string, fresh bool) error {
	types := map[string]map[string]bool{} // by root
	for _, c := range among {
		if types[c.Root] == nil {
			types[c.Root] = map[string]bool{}
		}
		types[c.Root][c.Type] = true
	}
	for root, types := range types {
		of := slices.DeleteFunc(slices.Clone(oids), func(oid string) bool {
			typ, _, _ := strings.Cut(oid, ":")
			return !types[typ]
		})
		if len(of) == 0 {
			continue // the service has created none of them
		}
		_, err := x.read(ctx, map[string]any{
			"from": root, "select": []string{x.model.key}, "filter": []string{"ID=$oids", x.model.key + "!=''"},
			"with": map[string]any{"$oids": of},
		}, root, fresh)
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds an asset with its key.
func (x *index) add(root, key, oid string, fresh bool) error {
	typ, number, _ := strings.Cut(oid, ":")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not an Oid", oid)
	}
	x.assets[digestOf(root, key)] = asset{id: id, typ: x.typeNumber(typ), fresh: fresh}
	return nil
}

// expect adds the key of an asset that a dry run has created and rolled back.
func (x *index) expect(root, key, typ string) {
	x.assets[digestOf(root, key)] = asset{typ: x.typeNumber(typ), fresh: true}
}

// typeNumber returns the index of a type in names. It adds a type that is not in names yet.
func (x *index) typeNumber(name string) uint16 {
	n, ok := x.number[name]
	if !ok {
		n = uint16(len(x.names)) //nolint:gosec // there are some hundred types
		x.number[name], x.names = n, append(x.names, name)
	}
	return n
}

// find returns the asset that has a key.
func (x *index) find(root, key string) (asset, bool) {
	a, ok := x.assets[digestOf(root, key)]
	return a, ok
}

// alias adds another name of an asset, which links may use.
func (x *index) alias(root, name string, a asset) { x.assets[digestOf(root, "\x00"+name)] = a }

// named returns the asset that has a key or another name.
func (x *index) named(root, name string) (asset, bool) {
	if a, ok := x.find(root, name); ok {
		return a, true
	}
	return x.find(root, "\x00"+name)
}

func (x *index) typeOf(a asset) string { return x.names[a.typ] }

func (x *index) oid(a asset) string { return x.typeOf(a) + ":" + strconv.FormatInt(a.id, 10) }
