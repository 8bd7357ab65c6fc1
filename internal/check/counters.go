package check

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/folding"
	"github.com/alds-dev/alds/internal/meta"
)

func token(i meta.Instance) string { return i.Type.Name + ":" + strconv.FormatInt(i.ID, 10) }

// numbers expects every asset of a type with Numbers to have one of the right
// form, unique in its type and not above its sequence.
func (c *checker) numbers(ctx context.Context) error {
	highest := map[*meta.Type]int64{}
	err := c.each(ctx, func(scan row) error {
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
			return c.report("asset", id, "its Number is %q, which is none of a %s", number.String, t.Name)
		}
		highest[t] = max(highest[t], n)
		return nil
	}, `SELECT id, type, number FROM asset`)
	if err != nil {
		return err
	}
	for t, n := range highest {
		if err := c.reaches(ctx, "number:"+t.Name, n); err != nil {
			return err
		}
	}
	return c.each(ctx, func(scan row) error {
		var id, n int64
		var number string
		if err := scan(&id, &number, &n); err != nil {
			return err
		}
		return c.report("asset", id, "%d assets of its type have its Number %s", n, number)
	}, `SELECT MIN(id), number, COUNT(*) FROM asset WHERE number IS NOT NULL GROUP BY type, number HAVING COUNT(*) > 1`)
}

// reaches expects a sequence to be at n or above.
func (c *checker) reaches(ctx context.Context, name string, n int64) error {
	var value sql.NullInt64
	err := c.each(ctx, func(scan row) error { return scan(&value) }, `SELECT MAX(value) FROM sequence WHERE name = ?`, name)
	if err == nil && value.Int64 < n {
		err = c.report("sequence", value.Int64, "%s stands at %d, in use is %d", name, value.Int64, n)
	}
	return err
}

// sequences expects the counters to be at or above the highest value in use.
func (c *checker) sequences(ctx context.Context) error {
	for _, s := range [...]struct{ name, use string }{
		{"id", `SELECT MAX(id) FROM asset`},
		{"audit", `SELECT MAX(id) FROM audit`},
		{"moment", `SELECT MAX(moment) FROM asset_version`},
		{"moment", `SELECT MAX(last_moment) FROM moment_stamp`},
		{"webhook", `SELECT MAX(generation) FROM audit`},
		{"feed", `SELECT MAX(feed) FROM audit`},
	} {
		var used sql.NullInt64
		if err := c.each(ctx, func(scan row) error { return scan(&used) }, s.use); err != nil {
			return err
		}
		floor := used.Int64
		if s.name == "id" && floor <= 1000 {
			continue // only well-known assets
		}
		if err := c.reaches(ctx, s.name, floor); err != nil {
			return err
		}
	}
	return nil
}

// stamps expects every moment to have a time, and later moments later ones.
func (c *checker) stamps(ctx context.Context) error {
	var last, at int64
	err := c.each(ctx, func(scan row) error {
		var moment, stamped int64
		if err := scan(&moment, &stamped); err != nil {
			return err
		}
		if stamped < at {
			return c.report("moment_stamp", moment, "it is stamped before moment %d", last)
		}
		last, at = moment, stamped
		return nil
	}, `SELECT last_moment, at FROM moment_stamp ORDER BY last_moment`)
	if err != nil {
		return err
	}
	return c.each(ctx, func(scan row) error {
		var id, moment int64
		if err := scan(&id, &moment); err != nil {
			return err
		}
		return c.report("asset_version", id, "moment %d is stamped with no instant", moment)
	}, `SELECT id, moment FROM asset_version WHERE moment > ? AND moment > 0 ORDER BY moment`, last)
}

// logins expects the names people log in with to be their Usernames.
func (c *checker) logins(ctx context.Context) error {
	member, ok := c.m.Type("Member")
	if !ok {
		return nil
	}
	name, ok := member.Attr("Username")
	if !ok || name.Place.Kind != meta.InAttrs {
		return nil
	}
	return c.each(ctx, func(scan row) error {
		var id int64
		var login, folded string
		var code sql.NullInt32
		var attrs sql.RawBytes
		if err := scan(&id, &login, &folded, &code, &attrs); err != nil {
			return err
		}
		if int(code.Int32) != member.Code {
			return c.report("credential", id, "the login %q belongs to no member", login)
		}
		if has := textsIn(attrs)[name.Place.Column]; has != login {
			return c.report("credential", id, "the login is %q, the member's Username %q", login, has)
		}
		if folded != folding.Of(login) {
			return c.report("credential", id, "the login %q is kept as %q: nobody can use it until the member's Username is changed", login, folded)
		}
		return nil
	}, `SELECT c.member_id, c.username, c.folded, a.type, a.attrs FROM credential c LEFT JOIN asset a ON a.id = c.member_id`)
}
