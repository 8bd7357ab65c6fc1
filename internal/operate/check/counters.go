package check

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// token returns the Oid of a well-known asset.
func token(i meta.Instance) string { return i.Type.Name + ":" + strconv.FormatInt(i.ID, 10) }

// numbers checks every asset of a type that has Numbers. The Number must have the right form, must
// be unique in its type, and must not exceed the sequence of the type.
func (c *checker) numbers(ctx context.Context) error {
	highest := map[*meta.Type]int64{}
	seen := map[*meta.Type]numbers{}
	var twice []string
	err := c.eachIn(ctx, byAsset, func(scan row) error {
		var id int64
		var code int
		var number sql.NullString
		if err := scan(&id, &code, &number); err != nil {
			return err
		}
		t := c.concrete(code)
		if t == nil || t.NumberPrefix == "" || c.seeds[id] {
			return nil
		}
		digits, ok := strings.CutPrefix(number.String, t.NumberPrefix)
		n, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil || len(digits) < 5 {
			return c.report("asset", id, "its Number %q is not a valid Number of a %s", number.String, t.Name)
		}
		highest[t] = max(highest[t], n)
		if seen[t] == nil {
			seen[t] = numbers{}
		}
		if seen[t].add(n) && len(twice) < batch {
			twice = append(twice, number.String)
		}
		return nil
	}, `SELECT id, type, number FROM asset WHERE {id}`)
	if err != nil {
		return err
	}
	for t, n := range highest {
		if err := c.reaches(ctx, "number:"+t.Name, n); err != nil {
			return err
		}
	}
	in, args := db.InArgs(twice)
	return c.each(ctx, func(scan row) error {
		var id, n int64
		var number string
		if err := scan(&id, &number, &n); err != nil {
			return err
		}
		return c.report("asset", id, "%d assets of its type have the Number %s", n, number)
	}, `SELECT MIN(id), number, COUNT(*) FROM asset WHERE number IN `+in+
		` GROUP BY type, number HAVING COUNT(*) > 1`, args...)
}

// numbers is a set of numbers. Each value of the map has one bit for each of 64 consecutive
// numbers. So the set is small if most numbers of a range are in it.
type numbers map[int64]uint64

// add adds a number. It reports whether the number was already in the set.
func (s numbers) add(n int64) (was bool) {
	word, bit := n>>6, uint64(1)<<(n&63)
	was = s[word]&bit != 0
	s[word] |= bit
	return was
}

// reaches reports a sequence whose value is below n.
func (c *checker) reaches(ctx context.Context, name string, n int64) error {
	var value sql.NullInt64
	err := c.each(ctx, func(scan row) error { return scan(&value) },
		`SELECT MAX(value) FROM sequence WHERE name = ?`, name)
	if err == nil && (value.Int64 < n || !value.Valid) {
		c.raise(name, value, n)
		err = c.report("sequence", value.Int64, "the sequence %s is at %d, but %d is in use", name, value.Int64, n)
	}
	return err
}

// raise adds a statement that fixes a sequence whose value is too low, or a sequence that is
// missing.
func (c *checker) raise(name string, value sql.NullInt64, to int64) {
	if value.Valid {
		c.mend(`UPDATE sequence SET value = ? WHERE name = ?`, to, name)
		return
	}
	c.mend(`INSERT INTO sequence (name, value, stamped_at) VALUES (?, ?, 0)`, name, to)
}

// firstID is the first value of the sequences of ids and moments. Well-known assets have lower ids
// and moments.
const firstID = 1000

// sequences reports every sequence whose value is below the highest value in use.
func (c *checker) sequences(ctx context.Context) error {
	for _, s := range [...]struct {
		name, use string
		inParts   bool // true: no index has the column, so the table is read in parts
	}{
		{"id", `SELECT MAX(id) FROM asset`, false},
		{"audit", `SELECT MAX(id) FROM audit`, false},
		{"moment", `SELECT MAX(moment) FROM asset_version`, false},
		{"moment", `SELECT MAX(last_moment) FROM moment_stamp`, false},
		{"webhook", `SELECT MAX(generation) FROM audit WHERE {id}`, true},
		{"feed", `SELECT MAX(feed) FROM audit`, false},
	} {
		floor := int64(0)
		highest := func(scan row) error {
			var used sql.NullInt64
			err := scan(&used)
			floor = max(floor, used.Int64)
			return err
		}
		err := error(nil)
		if s.inParts {
			err = c.eachIn(ctx, byAudit, highest, s.use)
		} else {
			err = c.each(ctx, highest, s.use)
		}
		if err != nil {
			return err
		}
		if s.name == "id" || s.name == "moment" {
			floor = max(floor, firstID)
		}
		if err := c.reaches(ctx, s.name, floor); err != nil {
			return err
		}
	}
	return nil
}
