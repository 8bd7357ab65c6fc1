package check

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/meta"
)

// hiddenProjects expects scope_hidden to say of every moment which projects are
// deleted or below a deleted one: what the versions of the deleted ones and the
// tree say together.
func (c *checker) hiddenProjects(ctx context.Context) error {
	t, ok := c.m.Type("Scope")
	if !ok {
		return nil
	}
	var at pair
	var sides [2][]span // by versions and tree, by scope_hidden
	flush := func() error {
		want, _ := joined(sides[0])
		have, fine := joined(sides[1])
		sides = [2][]span{}
		if fine && slices.Equal(want, have) {
			return nil
		}
		return c.report("scope_hidden", at.b, "since, until below %d are %v, by the versions and the tree %v", at.a, have, want)
	}
	err := c.each(ctx, func(scan row) error {
		var p pair
		var s span
		var side int
		if err := scan(&p.a, &p.b, &s.since, &s.until, &side); err != nil {
			return err
		}
		if p != at {
			if err := flush(); err != nil {
				return err
			}
			at = p
		}
		sides[side] = append(sides[side], s)
		return nil
	}, `SELECT v.id AS a, t.descendant_id AS b, CASE WHEN t.since_moment > v.moment THEN t.since_moment ELSE v.moment END AS s,`+
		` CASE WHEN t.until_moment < v.until_moment THEN t.until_moment ELSE v.until_moment END, 0 AS side`+
		` FROM asset_version v JOIN scope_closure t ON t.ancestor_id = v.id AND t.since_moment < v.until_moment AND t.until_moment > v.moment`+
		` WHERE v.type = ? AND v.state = ?`+
		` UNION ALL SELECT by_id, scope_id, since_moment, until_moment, 1 FROM scope_hidden ORDER BY a, b, side, s`, t.Code, meta.StateDeleted)
	if err != nil {
		return err
	}
	return flush()
}
