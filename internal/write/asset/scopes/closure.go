package scopes

import (
	"context"
	"fmt"
	"strconv"

	"github.com/alds-dev/alds/internal/store/db"
)

// Ancestry is a row of scope_closure.
type Ancestry struct {
	Ancestor, Descendant int64 // stored ids of projects
	Depth                int   // levels between the two projects; 0: they are the same project
	Since                int64 // moment since which the row is valid
}

// Ancestors returns the current rows whose descendant is a project. They contain the project
// itself and all projects above it. Ancestors does not set Since.
func Ancestors(ctx context.Context, q db.Querier, id int64) ([]Ancestry, error) {
	const query = `SELECT ancestor_id, depth FROM scope_closure WHERE descendant_id = ? AND until_moment = ?`
	all, err := db.Collect(ctx, q, query, []any{id, db.Forever}, func(scan db.Scanner) (Ancestry, error) {
		up := Ancestry{Descendant: id}
		err := scan.Scan(&up.Ancestor, &up.Depth)
		return up, err
	})
	if err != nil {
		return nil, fmt.Errorf("scope ancestors: %w", err)
	}
	return all, nil
}

var columns = []string{"ancestor_id", "descendant_id", "since_moment", "until_moment", "depth"}

// Insert inserts rows that are valid from their moment Since on.
func Insert(ctx context.Context, tx *db.Tx, all []Ancestry) error {
	args := make([]any, len(columns))
	err := db.InsertN(ctx, tx, "scope_closure", columns, len(all), func(i int) []any {
		a := all[i]
		args[0], args[1], args[2], args[3], args[4] = a.Ancestor, a.Descendant, a.Since, db.Forever, a.Depth
		return args
	})
	if err != nil {
		return fmt.Errorf("write scope closure: %w", err)
	}
	return nil
}

// Move moves a project and all projects below it from its old ancestors to the project parent and
// the ancestors of parent. If parent is nil, the project has no ancestors after the move. The
// parameter at is the moment of the move.
func Move(ctx context.Context, tx *db.Tx, id int64, parent *int64, at int64) error {
	const descendants = `SELECT descendant_id, depth FROM scope_closure WHERE ancestor_id = ? AND until_moment = ?`
	const ancestors = `SELECT ancestor_id, depth FROM scope_closure WHERE descendant_id = ? AND until_moment = ?`
	below, downs, err := closure(ctx, tx, descendants, id)
	if err != nil {
		return err
	}
	old, _, err := closure(ctx, tx, ancestors+` AND depth > 0`, id)
	if err != nil {
		return err
	}
	for _, ancestor := range old {
		if err := endAncestry(ctx, tx, ancestor, below, at); err != nil {
			return err
		}
	}
	if parent == nil {
		return nil
	}

	above, ups, err := closure(ctx, tx, ancestors, *parent)
	if err != nil {
		return err
	}
	var begun []Ancestry
	for i, up := range above {
		for k, down := range below {
			begun = append(begun, Ancestry{up, down, ups[i] + 1 + downs[k], at})
		}
	}
	if err := Insert(ctx, tx, begun); err != nil {
		return err
	}
	return hide(ctx, tx, below, hideBelow+` c.since_moment = `+strconv.FormatInt(at, 10)+` AND c.descendant_id IN `)
}

// closure runs a query for the ids of projects and their distances from a project (depth).
func closure(ctx context.Context, tx *db.Tx, query string, id int64) (ids []int64, depths []int, err error) {
	err = db.Each(ctx, tx, query, []any{id, db.Forever}, func(scan db.Scanner) error {
		var id int64
		var depth int
		err := scan.Scan(&id, &depth)
		ids, depths = append(ids, id), append(depths, depth)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("scope closure: %w", err)
	}
	return ids, depths, nil
}

// endAncestry ends the rows of scope_closure between an ancestor and the projects below it. If
// the ancestor was deleted, it no longer hides these projects.
func endAncestry(ctx context.Context, tx *db.Tx, ancestor int64, below []int64, at int64) error {
	for in, args := range db.InChunks(below) {
		args = append([]any{at, ancestor, db.Forever}, args...)
		for _, query := range [...]string{
			`UPDATE scope_closure SET until_moment = ? WHERE ancestor_id = ? AND until_moment = ? AND descendant_id IN `,
			`UPDATE scope_hidden SET until_moment = ? WHERE by_id = ? AND until_moment = ? AND scope_id IN `,
		} {
			if _, err := tx.Exec(ctx, query+in, args...); err != nil {
				return fmt.Errorf("end scope closure: %w", err)
			}
		}
	}
	return nil
}
