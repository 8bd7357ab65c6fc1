package sql

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/folding"
)

// scanAsset reads an asset or a version of an asset. The folded form of the row is a JSON object.
// It has the folded form of each text that is not plain. The keys of the object are names of
// columns and keys of attrs.
func scanAsset(rows *sql.Rows) (w row, err error) {
	var columns [3]sql.NullString
	var attrs sql.RawBytes
	if err := rows.Scan(&w.id, &w.moment, &columns[0], &columns[1], &columns[2], &attrs); err != nil {
		return w, err
	}
	folded := map[string]string{}
	for i, name := range [...]string{"name", "number", "description"} {
		keep(folded, name, columns[i].String)
	}
	if !folding.IsPlain(string(attrs)) {
		values := map[string]any{}
		if err := json.Unmarshal(attrs, &values); err != nil {
			return w, fmt.Errorf("the attributes of asset %d: %w", w.id, err)
		}
		for key, v := range values {
			if text, ok := v.(string); ok {
				keep(folded, key, text)
			}
		}
	}
	if len(folded) == 0 {
		return w, nil
	}
	text, err := json.Marshal(folded)
	w.folded = string(text)
	return w, err
}

func keep(folded map[string]string, key, text string) {
	if !folding.IsPlain(text) {
		folded[key] = folding.Of(text)
	}
}

func scanComment(rows *sql.Rows) (w row, err error) {
	var comment string
	if err := rows.Scan(&w.id, &w.moment, &comment); err != nil {
		return w, err
	}
	if !folding.IsPlain(comment) {
		w.folded = folding.Of(comment)
	}
	return w, nil
}

// value is a row of asset_value.
type value struct {
	holder       [3]int64 // the columns attribute, from_type and from_id
	text, folded string
	since, until int64
}

// values copies the rows of asset_value into asset_value_folded, which later
// replaces it.
func (f folder) values(ctx context.Context, r Runner) error {
	if _, err := r.ExecContext(ctx, "DELETE FROM asset_value_folded"); err != nil {
		return err
	}
	last := [3]int64{-1, -1, -1}
	for most := 4 * batch; ; {
		all, err := readValues(ctx, r, last, most)
		if err != nil {
			return err
		}
		n := whole(all, most)
		if n == 0 && len(all) == most {
			most *= 2
			continue
		}
		copied := merged(all[:n])
		err = f.together(ctx, r, len(copied), func(i int) error {
			v := copied[i]
			_, err := r.ExecContext(ctx, "INSERT INTO asset_value_folded"+
				" (attribute, from_type, from_id, value, since_moment, until_moment, folded) VALUES (?, ?, ?, ?, ?, ?, ?)",
				v.holder[0], v.holder[1], v.holder[2], v.text, v.since, v.until, v.folded)
			return err
		})
		if err != nil || len(all) < most {
			return err
		}
		last = all[n-1].holder
	}
}

// whole returns how many values at the beginning of all belong to holders whose values were all
// read. The parameter most is the limit of the read. If the read returned fewer rows, these are all
// values. Otherwise more values of the last holder may follow, so its values are not counted.
func whole(all []value, most int) int {
	n := len(all)
	if n < most {
		return n
	}
	for n > 0 && all[n-1].holder == all[len(all)-1].holder {
		n--
	}
	return n
}

// readValues reads the values of the next holders. The parameter last is the last holder that was
// read before, and most is the maximum number of values.
func readValues(ctx context.Context, r Runner, last [3]int64, most int) ([]value, error) {
	rows, err := r.QueryContext(ctx, "SELECT attribute, from_type, from_id, value, since_moment, until_moment FROM asset_value"+
		" WHERE attribute > ? OR attribute = ? AND (from_type > ? OR from_type = ? AND from_id > ?)"+
		" ORDER BY attribute, from_type, from_id LIMIT ?", last[0], last[0], last[1], last[1], last[2], most)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []value
	for rows.Next() {
		var v value
		if err := rows.Scan(&v.holder[0], &v.holder[1], &v.holder[2], &v.text, &v.since, &v.until); err != nil {
			return nil, err
		}
		v.folded = folding.Of(v.text)
		all = append(all, v)
	}
	return all, rows.Err()
}

// merged merges values of a holder that have the same folded form and existed at the same time. In
// older releases the collation of the database treated some of these values as different.
func merged(all []value) []value {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b value) int {
		return cmp.Or(slices.Compare(a.holder[:], b.holder[:]), strings.Compare(a.folded, b.folded), cmp.Compare(a.since, b.since))
	})
	var out []value
	for _, v := range all {
		if n := len(out) - 1; n >= 0 && out[n].holder == v.holder && out[n].folded == v.folded && v.since < out[n].until {
			out[n].until = max(out[n].until, v.until)
			continue
		}
		out = append(out, v)
	}
	return out
}

// login is a row of credential.
type login struct {
	member, version, disabled int64
	username, folded          string
	hash                      sql.NullString
}

// logins copies the rows of credential into credential_folded, which later replaces it. In older
// releases the collation of the database treated some usernames as different that are equal now. Of
// these, only the member with the lowest id keeps the username. The other members can log in again
// after somebody has changed their usernames.
func (f folder) logins(ctx context.Context, r Runner) error {
	if _, err := r.ExecContext(ctx, "DELETE FROM credential_folded"); err != nil {
		return err
	}
	taken := map[string]bool{}
	for last := int64(-1 << 62); ; {
		all, err := readLogins(ctx, r, last)
		if err != nil || len(all) == 0 {
			return err
		}
		for i := range all {
			c := &all[i]
			if c.folded = folding.Of(c.username); taken[c.folded] {
				c.folded += fmt.Sprintf("\x00%d", c.member) // no username has a NUL
			}
			taken[c.folded], last = true, c.member
		}
		err = f.together(ctx, r, len(all), func(i int) error {
			c := all[i]
			_, err := r.ExecContext(ctx, "INSERT INTO credential_folded"+
				" (member_id, username, password_hash, version, disabled, folded) VALUES (?, ?, ?, ?, ?, ?)",
				c.member, c.username, c.hash, c.version, c.disabled, c.folded)
			return err
		})
		if err != nil {
			return err
		}
	}
}

func readLogins(ctx context.Context, r Runner, last int64) ([]login, error) {
	rows, err := r.QueryContext(ctx, "SELECT member_id, username, password_hash, version, disabled FROM credential"+
		" WHERE member_id > ? ORDER BY member_id LIMIT ?", last, batch)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []login
	for rows.Next() {
		var c login
		if err := rows.Scan(&c.member, &c.username, &c.hash, &c.version, &c.disabled); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, rows.Err()
}
