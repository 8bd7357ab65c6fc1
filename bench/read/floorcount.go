package main

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/internal/store/db"
)

func floorCount(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
	return countAnswer(ctx, q, w, `SELECT c.n, a.id, a.name FROM (SELECT COUNT(*) AS n, MIN(id) AS id FROM asset
		WHERE scope_id = ? AND type = 4 AND state <> 255) c JOIN asset a ON a.id = c.id`, busyScope(n))
}

// floorOwned counts the stories with owners. It reads only indexes: the index asset_order also
// contains state and type. The server hashes the stories with owners once.
func floorOwned(ctx context.Context, q db.Querier, _ int, w []byte) ([]byte, error) {
	return countAnswer(ctx, q, w, `SELECT c.n, a.id, a.name FROM (SELECT COUNT(*) AS n, MIN(s.id) AS id FROM asset s FORCE INDEX (asset_order)
		WHERE s.type = 4 AND s.state <> 255 AND EXISTS (SELECT 1 FROM asset_link l
			WHERE l.relation = 1 AND l.from_type = 4 AND l.from_id = s.id AND l.until_moment = 9223372036854775807)) c JOIN asset a ON a.id = c.id`)
}

// countAnswer appends the count of a query and its first row.
func countAnswer(ctx context.Context, q db.Querier, w []byte, query string, args ...any) ([]byte, error) {
	var n, id int64
	var name []byte
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(&n, &id, &name); err != nil {
			return nil, err
		}
	}
	w = append(w, `{"_type":"Assets","total":`...)
	w = strconv.AppendInt(w, n, 10)
	w = append(w, `,"pageSize":1,"pageStart":0,"Assets":[`...)
	w = appendAsset(w, id)
	w = append(w, `"Name":{"_type":"Attribute","name":"Name","value":`...)
	w = appendText(w, name)
	return append(w, "}}}]}"...), rows.Err()
}

func floorWorkitems(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
	scope := busyScope(n)
	var count int64
	err := q.QueryRow(ctx, `SELECT COUNT(*) FROM asset WHERE scope_id = ? AND type = 4`, scope).Scan(&count)
	if err != nil {
		return nil, err
	}
	w = append(w, "[["...)
	w = appendOID(w, "Scope", scope)
	w = append(w, `,"Workitems:Story.@Count":"`...)
	w = strconv.AppendInt(w, count, 10)
	return append(w, `"}]]`...), nil
}

// floorTree reads stories in order, starting with the first story that has a rank. It looks up the
// scope of each story in scope_closure, because nearly all stories are below the root.
func floorTree(ctx context.Context, q db.Querier, _ int, w []byte) ([]byte, error) {
	return pairAnswer(ctx, q, w, `SELECT STRAIGHT_JOIN a.id, a.name, sc.name FROM asset a FORCE INDEX (asset_order)
		JOIN scope_closure c ON c.ancestor_id = ? AND c.descendant_id = a.scope_id AND c.until_moment = 9223372036854775807
		JOIN asset sc ON sc.id = a.scope_id
		WHERE a.type = 4 AND a.state <> 255 AND a.order_key > 0 ORDER BY a.order_key, a.id LIMIT 50`, `,"Scope.Name":`, 0)
}

// floorBranch sorts the stories below a scope with an index only. Then it reads the rows of the
// page.
func floorBranch(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
	return pairAnswer(ctx, q, w, `SELECT a.id, a.name, sc.name FROM (SELECT STRAIGHT_JOIN k.id, k.order_key FROM scope_closure c
			JOIN asset k ON k.scope_id = c.descendant_id
			WHERE c.ancestor_id = ? AND c.until_moment = 9223372036854775807 AND k.type = 4 AND k.state <> 255
			ORDER BY k.order_key, k.id LIMIT 50) p
		JOIN asset a ON a.id = p.id JOIN asset sc ON sc.id = a.scope_id ORDER BY p.order_key, p.id`, `,"Scope.Name":`, branchScope(n))
}

// floorReader finds the stories of the page with an index only, and then reads their rows.
func floorReader(scopes []int64) answer {
	return func(ctx context.Context, q db.Querier, _ int, w []byte) ([]byte, error) {
		in, args := db.InArgs(scopes)
		return pairAnswer(ctx, q, w, `SELECT a.id, a.name, sc.name FROM (SELECT k.id, k.order_key FROM asset k
				WHERE k.scope_id IN `+in+` AND k.type = 4 AND k.state <> 255 ORDER BY k.order_key, k.id LIMIT 50) p
			JOIN asset a ON a.id = p.id JOIN asset sc ON sc.id = a.scope_id ORDER BY p.order_key, p.id`, `,"Scope.Name":`, args...)
	}
}

// floorFind reads the whole table once. Without IGNORE INDEX the server would read an index and
// fetch each row by its id, which takes several times as long.
func floorFind(ctx context.Context, q db.Querier, _ int, w []byte) ([]byte, error) {
	return pairAnswer(ctx, q, w, `SELECT id, name, NULL FROM asset IGNORE INDEX (asset_order, asset_type) WHERE type = 4 AND state <> 255 AND name LIKE ?
		ORDER BY order_key, id LIMIT 50`, "", "%"+rare+"%")
}

// pairAnswer appends stories with their names. If key is not empty, each story also has another text,
// under this key.
func pairAnswer(ctx context.Context, q db.Querier, w []byte, query, key string, args ...any) ([]byte, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	w = append(w, "[["...)
	for first := true; rows.Next(); first = false {
		var id int64
		var name, other []byte
		if err := rows.Scan(&id, &name, &other); err != nil {
			return nil, err
		}
		if !first {
			w = append(w, ',')
		}
		w = appendOID(w, "Story", id)
		w = append(w, `,"Name":`...)
		w = appendText(w, name)
		if key != "" {
			w = append(w, key...)
			w = appendText(w, other)
		}
		w = append(w, '}')
	}
	return append(w, "]]"...), rows.Err()
}
