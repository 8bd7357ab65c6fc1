package asset

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/db"
)

// write takes the moments and Numbers of the run and writes what it did.
func (r *run) write(ctx context.Context) error {
	if r.moments == 0 {
		return nil
	}
	got, err := r.takeAll(ctx)
	if err != nil {
		return err
	}
	w := &writer{run: r, got: got, at: got.at, audit: r.s.audit, who: r.s.who.Member}
	r.date(w)
	steps := []func(context.Context) error{
		w.credentials, w.inserts, w.updates, w.closings, w.versions, w.links, w.values, w.scopes, w.roles,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if r.s.first == 0 {
		r.s.first = got.moment
	}
	r.s.last = got.moment + r.moments - 1
	return nil
}

func (r *run) takeAll(ctx context.Context) (taken, error) {
	n := need{moments: r.moments, numbers: make(map[string]int64, len(r.numbers))}
	for t, count := range r.numbers {
		n.numbers[t.Name] = count
	}
	return r.e.takes.take(ctx, r.s.tx, n)
}

// writer writes one run, its moments taken.
type writer struct {
	*run
	got            taken
	at, audit, who any // boxed once for all rows
}

// real is the moment that a run's negative one stands for.
func (w *writer) real(moment int64) int64 {
	if moment < 0 {
		return w.got.moment - moment - 1
	}
	return moment
}

// date gives every version of the run its true moment, Number and rank.
func (r *run) date(w *writer) {
	for _, v := range r.versions {
		v.moment, v.createdMoment, v.until = w.real(v.moment), w.real(v.createdMoment), w.real(v.until)
		tr := r.e.layout.types[v.row.typ]
		if tr.order >= 0 {
			if at, ok := v.slots[tr.order].(ranked); ok {
				v.slots[tr.order] = w.real(int64(at)) << rankBits
			}
		}
		if tr.number >= 0 {
			if n, ok := v.slots[tr.number].(numbered); ok {
				v.slots[tr.number] = numberText(n.typ.NumberPrefix, w.got.numbers[n.typ.Name]+n.nth)
			}
		}
	}
}

// rankBits leaves room for ranks between those of neighbours in creation order.
const rankBits = 20

// numberText spells a Number: the prefix and at least five digits.
func numberText(prefix string, n int64) string {
	b := append(make([]byte, 0, len(prefix)+8), prefix...)
	for limit := int64(10000); limit > n && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return string(strconv.AppendInt(b, n, 10))
}

// row appends the columns of asset.
func (w *writer) row(args []any, a *row, st *state) []any {
	createdAt, createdBy := any(st.createdAt), any(st.createdBy)
	if st.createdAt == ours {
		createdAt, createdBy = w.at, w.who
	}
	args = append(args, a.id, w.e.layout.types[a.typ].code, int64(st.code), st.moment, w.audit, st.createdMoment,
		createdAt, createdBy, w.at, w.who)
	args = append(args, st.slots...)
	return append(args, st.attrsText())
}

// attrsText renders the JSON once for both tables.
func (s *state) attrsText() any {
	if s.attrsJSON == nil && len(s.attrs) > 0 {
		s.attrsJSON = s.attrs.text()
	}
	return s.attrsJSON
}

func (w *writer) inserts(ctx context.Context) error {
	args := make([]any, 0, len(w.e.layout.columns))
	err := db.InsertN(ctx, w.s.tx, "asset", w.e.layout.columns, len(w.made), func(i int) []any {
		return w.row(args[:0], w.made[i], w.made[i].cur)
	})
	if err != nil {
		return fmt.Errorf("insert assets: %w", err)
	}
	return nil
}

// updates writes the changed assets whole, as upserts on their ids.
func (w *writer) updates(ctx context.Context) error {
	columns := w.e.layout.columns
	suffix := w.s.tx.Dialect().Upsert(columns[:1], columns[2:])
	args := make([]any, 0, len(columns))
	err := w.put(ctx, "asset", columns, suffix, len(w.changed), func(i int) []any {
		return w.row(args[:0], w.changed[i], w.changed[i].cur)
	})
	if err != nil {
		return fmt.Errorf("update assets: %w", err)
	}
	return nil
}

// closings ends the versions that were current before the run.
func (w *writer) closings(ctx context.Context) error {
	all := w.run.closings
	for len(all) > 0 {
		n := db.InSize(min(len(all), db.MaxIn))
		if err := w.closeSome(ctx, all[:min(n, len(all))], n); err != nil {
			return fmt.Errorf("close versions: %w", err)
		}
		all = all[min(n, len(all)):]
	}
	return nil
}

// closeSome closes up to n versions; the last one repeats to fill the statement.
func (w *writer) closeSome(ctx context.Context, some []closing, n int) error {
	var b strings.Builder
	b.WriteString(`UPDATE asset_version SET until_moment = CASE id`)
	args := make([]any, 0, 3*n+2)
	ids := make([]any, 0, n)
	from := some[0].moment
	for i := range n {
		c := some[min(i, len(some)-1)]
		b.WriteString(` WHEN ? THEN ?`)
		args = append(args, c.id, w.real(c.until))
		ids = append(ids, c.id)
		from = min(from, c.moment)
	}
	b.WriteString(` ELSE until_moment END WHERE moment >= ? AND until_moment = ? AND id IN ` + db.In(n))
	args = append(append(args, from, forever), ids...)
	_, err := w.s.tx.Exec(ctx, b.String(), args...)
	return err
}

func (w *writer) versions(ctx context.Context) error {
	args := make([]any, 0, len(w.e.layout.versioned))
	err := db.InsertN(ctx, w.s.tx, "asset_version", w.e.layout.versioned, len(w.run.versions), func(i int) []any {
		v := w.run.versions[i]
		linked := int64(0)
		if v.linked {
			linked = 1
		}
		return append(w.row(args[:0], v.row, v.state), v.until, linked)
	})
	if err != nil {
		return fmt.Errorf("insert versions: %w", err)
	}
	return nil
}

var linkColumns = []string{"relation", "from_type", "from_id", "to_id", "since_moment", "until_moment"}

func (w *writer) links(ctx context.Context) error {
	row := func(all []*link) func(int) []any {
		args := make([]any, len(linkColumns))
		return func(i int) []any {
			l := all[i]
			args[0], args[1], args[2] = int64(l.relation), int64(l.fromType), l.from
			args[3], args[4], args[5] = l.to, w.real(l.since), w.real(l.until)
			return args
		}
	}
	suffix := w.s.tx.Dialect().Upsert(linkColumns[:5], linkColumns[5:])
	if err := w.put(ctx, "asset_link", linkColumns, suffix, len(w.endedLinks), row(w.endedLinks)); err != nil {
		return fmt.Errorf("end links: %w", err)
	}
	begun := w.newLinks[:0]
	for _, l := range w.newLinks {
		if l.since != l.until {
			begun = append(begun, l)
		}
	}
	if err := db.InsertN(ctx, w.s.tx, "asset_link", linkColumns, len(begun), row(begun)); err != nil {
		return fmt.Errorf("begin links: %w", err)
	}
	return nil
}

var valueColumns = []string{"attribute", "from_type", "from_id", "value", "since_moment", "until_moment"}

func (w *writer) values(ctx context.Context) error {
	row := func(all []*value) func(int) []any {
		args := make([]any, len(valueColumns))
		return func(i int) []any {
			v := all[i]
			args[0], args[1], args[2] = int64(v.attribute), int64(v.fromType), v.from
			args[3], args[4], args[5] = v.text, w.real(v.since), w.real(v.until)
			return args
		}
	}
	suffix := w.s.tx.Dialect().Upsert(valueColumns[:5], valueColumns[5:])
	if err := w.put(ctx, "asset_value", valueColumns, suffix, len(w.endedValues), row(w.endedValues)); err != nil {
		return fmt.Errorf("end values: %w", err)
	}
	begun := w.newValues[:0]
	for _, v := range w.newValues {
		if v.since != v.until {
			begun = append(begun, v)
		}
	}
	if err := db.InsertN(ctx, w.s.tx, "asset_value", valueColumns, len(begun), row(begun)); err != nil {
		return fmt.Errorf("begin values: %w", err)
	}
	return nil
}

// scopes writes the project tree: new projects, then moves, which have to see them.
func (w *writer) scopes(ctx context.Context) error {
	for i := range w.closure {
		w.closure[i].since = w.real(w.closure[i].since)
	}
	if err := w.writeAncestry(ctx, w.closure); err != nil {
		return err
	}
	for _, row := range w.relocated {
		if err := w.writeMove(ctx, row, row.cur.moment); err != nil {
			return err
		}
	}
	return nil
}

var roleColumns = []string{"scope_id", "member_id", "role_id", "is_owner", "since_moment", "until_moment"}

// roles writes who has which role where, in order; roles begun in a row go
// together.
func (w *writer) roles(ctx context.Context) error {
	args := make([]any, len(roleColumns))
	for all := w.run.roles; len(all) > 0; {
		if all[0].end {
			_, err := w.s.tx.Exec(ctx, `UPDATE scope_member SET until_moment = ? WHERE scope_id = ? AND member_id = ? AND until_moment = ?`,
				w.real(all[0].since), all[0].scope, all[0].member, forever)
			if err != nil {
				return fmt.Errorf("end role: %w", err)
			}
			all = all[1:]
			continue
		}
		n := 0
		for n < len(all) && !all[n].end {
			n++
		}
		err := db.InsertN(ctx, w.s.tx, "scope_member", roleColumns, n, func(i int) []any {
			x := all[i]
			owner := int64(0)
			if x.owner {
				owner = 1
			}
			args[0], args[1], args[2], args[3], args[4], args[5] = x.scope, x.member, x.role, owner, w.real(x.since), forever
			return args
		})
		if err != nil {
			return fmt.Errorf("begin roles: %w", err)
		}
		all = all[n:]
	}
	return nil
}

// credentials sets logins, all of one member together, in order. They come
// first: they are what the database may refuse.
func (w *writer) credentials(ctx context.Context) error {
	for i := 0; i < len(w.creds); {
		c := w.creds[i]
		for i++; i < len(w.creds) && w.creds[i].member == c.member; i++ {
			if w.creds[i].username != nil {
				c.username = w.creds[i].username
			}
			if w.creds[i].password != nil {
				c.password = w.creds[i].password
			}
		}
		if w.e.creds == nil {
			continue
		}
		if err := w.e.creds.Set(ctx, w.s.tx, c.member, c.username, c.password); err != nil {
			return fmt.Errorf("set login of %s: %w", c.typ, err)
		}
	}
	return nil
}

// put writes rows with a clause behind them, in statements of a few sizes.
func (w *writer) put(ctx context.Context, table string, columns []string, suffix string, n int, row func(int) []any) error {
	head := `INSERT INTO ` + table + ` (` + names(columns, "") + `) VALUES `
	one := "(" + strings.Repeat("?,", len(columns)-1) + "?)"
	for i := 0; i < n; {
		size := sizeOf(n-i, w.s.tx.Dialect().InsertRows)
		args := make([]any, 0, size*len(columns))
		for range size {
			args = append(args, row(i)...)
			i++
		}
		if err := w.putAll(ctx, head, one, suffix, len(columns), args); err != nil {
			return err
		}
	}
	return nil
}

// maxBytes is how much text one statement carries: less than the packet of a
// server with default settings.
const maxBytes = 8 << 20

// putAll writes the rows in args with one statement, or half by half where
// they have too many bytes.
func (w *writer) putAll(ctx context.Context, head, one, suffix string, columns int, args []any) error {
	rows := len(args) / columns
	if rows > 1 && weight(args) > maxBytes {
		half := rows / 2 * columns
		if err := w.putAll(ctx, head, one, suffix, columns, args[:half]); err != nil {
			return err
		}
		return w.putAll(ctx, head, one, suffix, columns, args[half:])
	}
	_, err := w.s.tx.Exec(ctx, head+strings.Repeat(one+",", rows-1)+one+suffix, args...)
	return err
}

func weight(args []any) int {
	n := 8 * len(args)
	for _, a := range args {
		if text, ok := a.(string); ok {
			n += len(text)
		}
	}
	return n
}

func sizeOf(n, most int) int {
	for size := most; size > 1; size /= 5 {
		if n >= size {
			return size
		}
	}
	return 1
}
