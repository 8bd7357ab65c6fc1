package check

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// hiddenProjects expects that the table scope_hidden agrees with the versions and the project tree.
// At every moment, the table must list the projects that are deleted or below a deleted project.
func (c *checker) hiddenProjects(ctx context.Context) error {
	t, ok := c.m.Type("Scope")
	if !ok {
		return nil
	}
	return c.eachPair(ctx, ofType(t.Code), func(p pair, spans []span) error {
		sides := bySide(spans) // 0: from the versions and the tree; 1: from scope_hidden
		want, _ := joined(sides[0])
		have, disjoint := joined(sides[1])
		if disjoint && slices.Equal(want, have) {
			return nil
		}
		c.mend(`DELETE FROM scope_hidden WHERE by_id = ? AND scope_id = ?`, p.a, p.b)
		for _, s := range want {
			c.mend(`INSERT INTO scope_hidden (scope_id, by_id, since_moment, until_moment) VALUES (?, ?, ?, ?)`,
				p.b, p.a, s.since, s.until)
		}
		return c.report("scope_hidden", p.b,
			"its spans (since, until) below %d are %v, but the versions and the project tree give %v", p.a, have, want)
	}, `SELECT v.id AS a, t.descendant_id AS b,`+
		` CASE WHEN t.since_moment > v.moment THEN t.since_moment ELSE v.moment END AS s,`+
		` CASE WHEN t.until_moment < v.until_moment THEN t.until_moment ELSE v.until_moment END, 0 AS side`+
		` FROM asset x JOIN asset_version v ON v.id = x.id JOIN scope_closure t`+
		` ON t.ancestor_id = v.id AND t.since_moment < v.until_moment AND t.until_moment > v.moment`+
		` WHERE x.type = ? AND {x.id} AND v.state = ?`+
		` UNION ALL SELECT by_id, scope_id, since_moment, until_moment, 1 FROM scope_hidden`+
		` WHERE {by_id} ORDER BY a, b, side, s`, t.Code, meta.StateDeleted)
}
