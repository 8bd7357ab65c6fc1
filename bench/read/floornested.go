package main

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/store/db"
)

// node is an asset with its children in the answer.
type node struct {
	id    int64
	name  []byte
	below []*node
}

// level describes how one depth of the tree is read and shown.
type level struct{ typ, key, query string }

var levels = []level{
	{"Epic", `,"Subs:Story":[`, ``},
	{"Story", `,"Children:Task":[`, `SELECT id, super_id, name FROM asset
		WHERE super_id IN %s AND type = 4 AND state <> 255 ORDER BY order_key, id`},
	{"Task", `,"Owners":[`, `SELECT id, parent_id, name FROM asset
		WHERE parent_id IN %s AND type = 7 AND state <> 255 ORDER BY order_key, id`},
	{"Member", "", `SELECT m.id, l.from_id, m.name FROM asset_link l JOIN asset m ON m.id = l.to_id
		WHERE l.relation = 1 AND l.from_type = 7 AND l.until_moment = 9223372036854775807 AND m.state <> 255
		AND l.from_id IN %s ORDER BY m.name, m.id`},
}

// floorNested reads each level with one statement for all parents.
func floorNested(ctx context.Context, q db.Querier, scope int64, w []byte) ([]byte, error) {
	top := &node{}
	err := readNodes(ctx, q, `SELECT id, 0, name FROM asset WHERE scope_id = ? AND type = 9 AND state <> 255
		ORDER BY order_key, id LIMIT 10`, []any{scope}, map[int64]*node{0: top})
	if err != nil {
		return nil, err
	}
	above := top.below
	for _, l := range levels[1:] {
		if above, err = readLevel(ctx, q, l, above); err != nil {
			return nil, err
		}
	}
	w = append(w, "[["...)
	w = appendNodes(w, top.below, 0)
	return append(w, "]]"...), nil
}

func readLevel(ctx context.Context, q db.Querier, l level, above []*node) ([]*node, error) {
	if len(above) == 0 {
		return nil, nil
	}
	of := make(map[int64]*node, len(above))
	ids := make([]int64, len(above))
	for i, a := range above {
		of[a.id], ids[i] = a, a.id
	}
	in, args := db.InArgs(ids)
	if err := readNodes(ctx, q, fmt.Sprintf(l.query, in), args, of); err != nil {
		return nil, err
	}
	var all []*node
	for _, a := range above {
		all = append(all, a.below...)
	}
	return all, nil
}

func readNodes(ctx context.Context, q db.Querier, query string, args []any, of map[int64]*node) error {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var parent int64
		c := &node{}
		if err := rows.Scan(&c.id, &parent, &c.name); err != nil {
			return err
		}
		of[parent].below = append(of[parent].below, c)
	}
	return rows.Err()
}

func appendNodes(w []byte, list []*node, depth int) []byte {
	for i, c := range list {
		if i > 0 {
			w = append(w, ',')
		}
		w = appendOID(w, levels[depth].typ, c.id)
		w = append(w, `,"Name":`...)
		w = appendText(w, c.name)
		if key := levels[depth].key; key != "" {
			w = append(w, key...)
			w = appendNodes(w, c.below, depth+1)
			w = append(w, ']')
		}
		w = append(w, '}')
	}
	return w
}
