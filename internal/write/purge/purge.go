package purge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// stepAssets is the largest number of assets that one transaction handles.
const stepAssets = 100

// none is less than the id of every asset.
const none int64 = -1 << 62

// Add records that the data of a definition must be removed. definition is the stored id of the
// definition.
func Add(ctx context.Context, tx *db.Tx, definition int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO definition_purge (definition_id, done_id) VALUES (?, ?)`, definition, none)
	if err != nil {
		return fmt.Errorf("store the purge: %w", err)
	}
	return nil
}

// Run removes the data of custom attributes and lists that were deleted with their data: the
// values of assets and of their versions, and links. The model does not contain these attributes
// and lists any more, so clients cannot see the data while Run runs. If Run stops early, the next
// call continues at the same place. The next call may come from another process.
func Run(ctx context.Context, d *db.DB, base *meta.Model) error {
	all, err := purges(ctx, d, base)
	for _, p := range all {
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("remove the values of %s: %w", p.name, err)
		}
	}
	return err
}

// purge removes the values of one attribute, or of one list.
type purge struct {
	d    *db.DB
	id   int64 // id of the definition of the attribute or list
	name string
	// step removes the values of the next assets, whose ids are greater than done. more is true
	// if there may be more such assets.
	step func(ctx context.Context, tx *db.Tx, done int64) (more bool, err error)
}

// purges returns all purges. Attributes come before lists, so that no link refers to a value of a
// list that is already emptied. If a definition is not found, purges returns an error and only
// the purges of the attributes that were found.
func purges(ctx context.Context, d *db.DB, base *meta.Model) ([]*purge, error) {
	ids, err := db.Column[int64](ctx, d, `SELECT definition_id FROM definition_purge ORDER BY definition_id`)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	custom, err := catalog.Read(ctx, d, base)
	if err != nil {
		return nil, err
	}
	m, left := base.Extend(custom)
	var all, lists []*purge
	for _, id := range ids {
		p := &purge{d: d, id: id}
		if a, ok := m.DefinedBy(id); ok {
			p.name, p.step = a.Token(), (&attributePurge{p.id, a, typeCodes(m, a.On)}).step
			all = append(all, p)
		} else if t, ok := m.ListDefinedBy(id); ok {
			p.name, p.step = t.Name, newListPurge(id, t, m).step
			lists = append(lists, p)
		} else {
			err = errors.Join(err, fmt.Errorf("purge: asset %d defines no attribute and no list: %w", id, left))
		}
	}
	if err != nil { // an attribute that was not found may refer to one of the lists
		return all, err
	}
	return append(all, lists...), nil
}

// run removes all values, and then the row of definition_purge.
func (p *purge) run(ctx context.Context) error {
	for {
		more, err := p.once(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	_, err := p.d.Exec(ctx, `DELETE FROM definition_purge WHERE definition_id = ?`, p.id)
	return err
}

// once removes the values of the next assets, in one transaction. It reports whether there may be
// more assets. It locks the row of definition_purge, so that only one process runs a step at a
// time. If the row does not exist, another process has finished the purge. The step must then
// remove nothing, because values that exist now belong to another definition.
func (p *purge) once(ctx context.Context) (more bool, err error) {
	err = p.d.Write(ctx, func(tx *db.Tx) error {
		var done int64
		query := `SELECT done_id FROM definition_purge WHERE definition_id = ?` + tx.Dialect().ForUpdate
		err := tx.QueryRow(ctx, query, p.id).Scan(&done)
		if fault.KindOf(err) == fault.NotFound {
			more = false
			return nil
		}
		if err == nil {
			more, err = p.step(ctx, tx, done)
		}
		return err
	})
	return more, err
}

// attributePurge removes the values of one attribute.
type attributePurge struct {
	id    int64 // id of the definition of the attribute
	attr  *meta.Attr
	types []int64 // codes of the types that have the attribute
}

func (p *attributePurge) step(ctx context.Context, tx *db.Tx, done int64) (more bool, err error) {
	if p.attr.Place.Kind == meta.InLinks {
		return p.links(ctx, tx)
	}
	return p.scalars(ctx, tx, done)
}

// scalars removes the values from the next assets and from all their versions. It reports whether
// there may be more assets.
func (p *attributePurge) scalars(ctx context.Context, tx *db.Tx, done int64) (bool, error) {
	ids, err := nextAssets(ctx, tx, p.types, done)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	in, args := db.InArgs(ids)
	if _, err := tx.Lock(ctx, "asset", "id IN "+in+" ORDER BY id", args...); err != nil {
		return false, err
	}

	set, values := p.cleared()
	folded := tx.Dialect().JSONText("folded", p.attr.Place.Column)
	// The value, its folded form, or both may be stored in asset_text instead of in the row.
	inRow := storedExpr(tx.Dialect(), p.attr) + ` IS NOT NULL OR ` + folded + ` IS NOT NULL`
	for _, table := range []string{"asset", "asset_version"} {
		query := `UPDATE ` + table + ` SET ` + set + ` WHERE id IN ` + in + ` AND (` + inRow + `)`
		if _, err := tx.Exec(ctx, query, append(values, args...)...); err != nil {
			return false, err
		}
	}

	for _, column := range []string{"attrs", "folded"} {
		if err := stored.RewriteTexts(ctx, tx, column, ids, p.without); err != nil {
			return false, err
		}
	}
	return purged(ctx, tx, p.id, ids)
}

// without returns a copy of a JSON document without the key of the attribute.
func (p *attributePurge) without(as stored.Attrs) stored.Attrs {
	return as.Without(p.attr.Place.Column)
}

// nextAssets returns the ids of the next assets of some types, at most stepAssets. The ids are
// greater than done. They are in ascending order, because writers lock assets in that order.
func nextAssets(ctx context.Context, tx *db.Tx, types []int64, done int64) ([]int64, error) {
	in, args := db.InArgs(types)
	query := `SELECT id FROM asset WHERE type IN ` + in + ` AND id > ? ORDER BY id LIMIT ?`
	return db.Column[int64](ctx, tx, query, append(args, done, stepAssets)...)
}

// purged stores the last of the ids as the progress of a purge. It reports whether there may be
// more assets.
func purged(ctx context.Context, tx *db.Tx, definition int64, ids []int64) (more bool, err error) {
	_, err = tx.Exec(ctx, `UPDATE definition_purge SET done_id = ? WHERE definition_id = ?`, ids[len(ids)-1], definition)
	return len(ids) == stepAssets, err
}

// cleared returns the SET clause of an UPDATE that removes the value of the attribute, and the
// arguments for its placeholders.
func (p *attributePurge) cleared() (set string, values []any) {
	path := `$."` + p.attr.Place.Column + `"`
	if p.attr.Place.Kind == meta.InColumn {
		return p.attr.Place.Column + ` = NULL, folded = JSON_REMOVE(folded, ?)`, []any{path}
	}
	return `attrs = JSON_REMOVE(attrs, ?), folded = JSON_REMOVE(folded, ?)`, []any{path, path}
}

// links deletes the links that begin at the next assets of one type. It reports whether there may
// be more links.
func (p *attributePurge) links(ctx context.Context, tx *db.Tx) (bool, error) {
	for _, code := range p.types {
		query := `SELECT DISTINCT from_id FROM asset_link WHERE relation = ? AND from_type = ? ORDER BY from_id LIMIT ?`
		ids, err := db.Column[int64](ctx, tx, query, p.attr.Place.Code, code, stepAssets)
		if err != nil {
			return false, err
		}
		if len(ids) == 0 {
			continue
		}
		in, args := db.InArgs(ids)
		return true, purgeLinks(ctx, tx, `relation = ? AND from_type = ? AND from_id IN `+in,
			append([]any{p.attr.Place.Code, code}, args...))
	}
	return false, nil
}

// purgeLinks deletes the links that match a condition. In the versions that began or ended these
// links, it sets the column linked to 1. This value means that the number of links is unknown.
func purgeLinks(ctx context.Context, tx *db.Tx, condition string, args []any) error {
	moments, err := db.Column[int64](ctx, tx, `SELECT since_moment FROM asset_link WHERE `+condition+
		` UNION SELECT until_moment FROM asset_link WHERE `+condition, slices.Concat(args, args)...)
	if err != nil {
		return err
	}
	for in, some := range db.InChunks(moments) {
		query := `UPDATE asset_version SET linked = 1 WHERE linked > 1 AND moment IN ` + in
		if _, err := tx.Exec(ctx, query, some...); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `DELETE FROM asset_link WHERE `+condition, args...)
	return err
}
