package check

import (
	"slices"
	"testing"
)

func TestPartsOfAQuery(t *testing.T) {
	const query = `SELECT ? FROM a WHERE {a.id} AND x = ? UNION SELECT y FROM b WHERE {b}`
	for _, c := range []struct {
		part part
		text string
		args []any
	}{
		{part{}, `SELECT ? FROM a WHERE 1 = 1 AND x = ? UNION SELECT y FROM b WHERE 1 = 1`, []any{"p", "q"}},
		{part{nil, 7}, `SELECT ? FROM a WHERE a.id <= ? AND x = ? UNION SELECT y FROM b WHERE b <= ?`, []any{"p", 7, "q", 7}},
		{part{3, 7}, `SELECT ? FROM a WHERE (a.id > ? AND a.id <= ?) AND x = ? UNION SELECT y FROM b WHERE (b > ? AND b <= ?)`, []any{"p", 3, 7, "q", 3, 7}},
		{part{3, nil}, `SELECT ? FROM a WHERE a.id > ? AND x = ? UNION SELECT y FROM b WHERE b > ?`, []any{"p", 3, "q", 3}},
	} {
		if text, args := c.part.put(query, []any{"p", "q"}); text != c.text || !slices.Equal(args, c.args) {
			t.Errorf("%v: %s %v", c.part, text, args)
		}
	}
}
