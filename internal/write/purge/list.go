package purge

import (
	"context"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// listPurge empties the rows of the assets that are the values of one list. The rows stay, with
// ids, moments and ranks. So the versions of an asset still have no gaps, and every audit row
// still has its versions.
type listPurge struct {
	id   int64 // id of the definition of the list
	list *meta.Type
	set  string  // SET clause of the UPDATE that empties a row
	from []int64 // codes of relations whose links may begin at values of the list
	to   []int64 // codes of relations whose links may end at values of the list
}

func newListPurge(definition int64, list *meta.Type, m *meta.Model) *listPurge {
	hashes := strings.Join(db.HashColumns(), " = NULL, ")
	p := &listPurge{id: definition, list: list, set: "attrs = NULL, folded = NULL, " + hashes + " = NULL"}
	for _, c := range m.AllColumns() {
		if c.Name != "order_key" {
			p.set += ", " + c.Name + " = NULL"
		}
	}
	for _, t := range m.Types {
		for _, a := range slices.Concat(t.Attrs, t.Kept) {
			if a.Place.Kind != meta.InLinks {
				continue
			}
			if t == list {
				p.from = append(p.from, int64(a.Place.Code))
			}
			if a.Declared == t && list.IsA(a.Related) {
				p.to = append(p.to, int64(a.Place.Code))
			}
		}
	}
	return p
}

func (p *listPurge) step(ctx context.Context, tx *db.Tx, done int64) (more bool, err error) {
	ids, err := nextAssets(ctx, tx, []int64{int64(p.list.Code)}, done)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	in, args := db.InArgs(ids)
	for _, table := range []string{"asset", "asset_version"} {
		if _, err := tx.Exec(ctx, `UPDATE `+table+` SET `+p.set+` WHERE id IN `+in, args...); err != nil {
			return false, err
		}
	}
	if err := db.RemoveTexts(ctx, tx, ids); err != nil {
		return false, err
	}
	if len(p.from) > 0 {
		relations, codes := db.InArgs(p.from)
		err = purgeLinks(ctx, tx, `relation IN `+relations+` AND from_type = ? AND from_id IN `+in,
			slices.Concat(codes, []any{p.list.Code}, args))
		if err != nil {
			return false, err
		}
	}
	if len(p.to) > 0 {
		relations, codes := db.InArgs(p.to)
		err = purgeLinks(ctx, tx, `relation IN `+relations+` AND to_id IN `+in, slices.Concat(codes, args))
		if err != nil {
			return false, err
		}
	}
	return purged(ctx, tx, p.id, ids)
}
