package asset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// purgeAssets is how many assets are cleared in one transaction.
const purgeAssets = 100

// Purge removes what deleted custom attributes and lists have left: the values of assets
// and of their versions, and links. Nothing names them since the commit that deleted the
// definition, so nobody sees how far it is; it goes on where it, or another process,
// stopped.
func Purge(ctx context.Context, d *db.DB, base *meta.Model) error {
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
	id   int64 // of its definition
	name string
	step func(ctx context.Context, tx *db.Tx, done int64) (more bool, err error) // removes the next ones behind an id
}

// purges returns what there is to remove, attributes first: so that no link leads to a
// value of a list that is emptied.
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
			err = errors.Join(err, fmt.Errorf("nothing is defined by %d, whose values are to be removed: %w", id, left))
		}
	}
	if err != nil { // an attribute that cannot be removed may lead to one of them
		return all, err
	}
	return append(all, lists...), nil
}

// run removes all values.
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

// once removes the values of the next assets, in one transaction. It reports whether
// there may be more. Of several processes one is at work; when another has finished
// there is nothing left to do: what is written from then on is of another definition.
func (p *purge) once(ctx context.Context) (more bool, err error) {
	err = p.d.Write(ctx, func(tx *db.Tx) error {
		var done int64
		err := tx.QueryRow(ctx, `SELECT done_id FROM definition_purge WHERE definition_id = ?`+tx.Dialect().ForUpdate, p.id).Scan(&done)
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
	id    int64 // of its definition
	attr  *meta.Attr
	types []int64 // codes of the types that have it
}

func (p *attributePurge) step(ctx context.Context, tx *db.Tx, done int64) (more bool, err error) {
	if p.attr.Place.Kind == meta.InLinks {
		return p.links(ctx, tx)
	}
	return p.scalars(ctx, tx, done)
}

// scalars clears the next assets and all their versions. It reports whether there may
// be more.
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
	stands := storedExpr(tx.Dialect(), p.attr) + ` IS NOT NULL OR ` + tx.Dialect().JSONText("folded", p.attr.Place.Column) + ` IS NOT NULL` // either may lie apart
	for _, table := range []string{"asset", "asset_version"} {
		_, err := tx.Exec(ctx, `UPDATE `+table+` SET `+set+` WHERE id IN `+in+` AND (`+stands+`)`, append(values, args...)...)
		if err != nil {
			return false, err
		}
	}
	for _, column := range []string{"attrs", "folded"} {
		if err := rewriteTexts(ctx, tx, column, ids, p.without); err != nil {
			return false, err
		}
	}
	return purged(ctx, tx, p.id, ids)
}

// without is a document without what belongs to the attribute.
func (p *attributePurge) without(as attrs) attrs {
	return slices.DeleteFunc(slices.Clone(as), func(x attrValue) bool { return x.key == p.attr.Place.Column })
}

// nextAssets are the ids of the next assets of some types behind an id, in the order in
// which writers lock them.
func nextAssets(ctx context.Context, tx *db.Tx, types []int64, done int64) ([]int64, error) {
	in, args := db.InArgs(types)
	return db.Column[int64](ctx, tx, `SELECT id FROM asset WHERE type IN `+in+` AND id > ? ORDER BY id LIMIT ?`, append(args, done, purgeAssets)...)
}

// purged notes how far the purge of a definition is. It reports whether there may be
// more.
func purged(ctx context.Context, tx *db.Tx, definition int64, ids []int64) (more bool, err error) {
	_, err = tx.Exec(ctx, `UPDATE definition_purge SET done_id = ? WHERE definition_id = ?`, ids[len(ids)-1], definition)
	return len(ids) == purgeAssets, err
}

// cleared is what an UPDATE sets where the attribute has no value.
func (p *attributePurge) cleared() (set string, values []any) {
	path := `$."` + p.attr.Place.Column + `"`
	if p.attr.Place.Kind == meta.InColumn {
		return p.attr.Place.Column + ` = NULL, folded = JSON_REMOVE(folded, ?)`, []any{path}
	}
	return `attrs = JSON_REMOVE(attrs, ?), folded = JSON_REMOVE(folded, ?)`, []any{path, path}
}

// links deletes the links of the next assets of some type. It reports whether there
// may be more.
func (p *attributePurge) links(ctx context.Context, tx *db.Tx) (bool, error) {
	for _, code := range p.types {
		ids, err := db.Column[int64](ctx, tx, `SELECT DISTINCT from_id FROM asset_link WHERE relation = ? AND from_type = ? ORDER BY from_id LIMIT ?`,
			p.attr.Place.Code, code, purgeAssets)
		if err != nil {
			return false, err
		}
		if len(ids) == 0 {
			continue
		}
		in, args := db.InArgs(ids)
		return true, purgeLinks(ctx, tx, `relation = ? AND from_type = ? AND from_id IN `+in, append([]any{p.attr.Place.Code, code}, args...))
	}
	return false, nil
}

// purgeLinks deletes the links that match a condition. In the versions where these links
// began or ended, it sets linked to 1: some links, not counted.
func purgeLinks(ctx context.Context, tx *db.Tx, condition string, args []any) error {
	moments, err := db.Column[int64](ctx, tx, `SELECT since_moment FROM asset_link WHERE `+condition+
		` UNION SELECT until_moment FROM asset_link WHERE `+condition, slices.Concat(args, args)...)
	if err != nil {
		return err
	}
	for in, some := range db.InChunks(moments) {
		if _, err := tx.Exec(ctx, `UPDATE asset_version SET linked = 1 WHERE linked > 1 AND moment IN `+in, some...); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `DELETE FROM asset_link WHERE `+condition, args...)
	return err
}
