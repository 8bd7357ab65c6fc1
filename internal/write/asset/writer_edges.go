package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/store/db"
)

var (
	linkColumns  = []string{"relation", "from_type", "from_id", "to_id", "since_moment", "until_moment"}
	valueColumns = []string{"attribute", "from_type", "from_id", "folded", "since_moment", "until_moment", "value"}
)

// edges writes the links and values that ended, and then the links and values that began.
func (w *writer) edges(ctx context.Context) error {
	var ended, begun [2][]*edge // index 0: links, 1: values
	for _, ch := range w.changes.edges {
		e, i := ch.edge, 0
		if e.code < 0 {
			i = 1
		}
		switch {
		case ch.set == nil && e.stored:
			ended[i] = append(ended[i], e)
		case ch.set != nil && e.since != e.until:
			begun[i] = append(begun[i], e)
		}
	}

	for i, columns := range [][]string{linkColumns, valueColumns} {
		table := [...]string{"asset_link", "asset_value"}[i]
		err := db.UpsertN(ctx, w.later, table, columns, columns[:5], columns[5:6], len(ended[i]), w.edgeRows(ended[i]))
		if err != nil {
			return fmt.Errorf("end rows of %s: %w", table, err)
		}
		if err := db.InsertN(ctx, w.later, table, columns, len(begun[i]), w.edgeRows(begun[i])); err != nil {
			return fmt.Errorf("begin rows of %s: %w", table, err)
		}
	}
	return nil
}

// maxLinked is the greatest value of the column linked.
const maxLinked = 1<<15 - 1

// linkedOf returns the value of the column linked for a version. If no links and values begin or
// end with the version, it is 0. If n of them begin or end, it is n+1. The value 1 means that n
// is greater than 0, but unknown. edges contains n for each moment.
func linkedOf(v *version, edges map[moment]int64) int64 {
	switch n := edges[v.moment] + 1; {
	case !v.linked:
		return 0
	case v.moment == 0 || n > maxLinked: // all well-known assets share moment 0
		return 1
	default:
		return n
	}
}

// edgesAt returns how many rows of links and values begin or end at each moment of the
// batch.
func (w *writer) edgesAt() map[moment]int64 {
	at := map[moment]int64{}
	for _, ch := range w.changes.edges {
		switch e := ch.edge; {
		case !e.stored && e.since == e.until: // the edge has no row
		case ch.set != nil:
			at[e.since.in(w.got)]++
		default:
			at[e.until.in(w.got)]++
		}
	}
	return at
}

// edgeRows returns a function that returns the column values of the edge at an index. All results
// of the function share one array.
func (w *writer) edgeRows(all []*edge) func(int) []any {
	args := make([]any, 0, len(valueColumns))
	return func(i int) []any {
		e := all[i]
		if e.code > 0 {
			return append(args, int64(e.code), int64(e.fromType), e.from, e.to, w.moment(e.since), w.moment(e.until))
		}
		return append(args, int64(-e.code), int64(e.fromType), e.from, folding.Of(e.text),
			w.moment(e.since), w.moment(e.until), e.text)
	}
}

var roleColumns = []string{"scope_id", "member_id", "role_id", "is_owner", "since_moment", "until_moment"}

// roles writes the roles that end and begin, in the order of the commands. Successive new roles
// are written together.
func (w *writer) roles(ctx context.Context) error {
	args := make([]any, len(roleColumns))
	for all := w.changes.roles; len(all) > 0; {
		if all[0].end {
			if err := w.noteEnd(ctx, &all[0]); err != nil {
				return err
			}
			query := `UPDATE scope_member SET until_moment = ? WHERE scope_id = ? AND member_id = ? AND until_moment = ?`
			_, err := w.tx.Exec(ctx, query, w.moment(all[0].since), all[0].scope, all[0].member, db.Forever)
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
		err := db.InsertN(ctx, w.tx, "scope_member", roleColumns, n, func(i int) []any {
			x := all[i]
			owner := int64(0)
			if x.owner {
				owner = 1
			}
			args[0], args[1], args[2], args[3] = x.scope, x.member, x.role, owner
			args[4], args[5] = w.moment(x.since), db.Forever
			return args
		})
		if err != nil {
			return fmt.Errorf("begin roles: %w", err)
		}
		for _, x := range all[:n] {
			w.note(trail.RoleGranted, x.member, trail.In(x.scope), trail.Detail{Role: w.roleToken(x.role)})
		}
		all = all[n:]
	}
	return nil
}

// credentials sets logins in the order of the commands. It sets successive logins of the same
// member together. It runs before most other steps, because the database may refuse a username.
func (w *writer) credentials(ctx context.Context) error {
	for i := 0; i < len(w.changes.logins); {
		c := w.changes.logins[i]
		for i++; i < len(w.changes.logins) && w.changes.logins[i].member == c.member; i++ {
			if w.changes.logins[i].username != nil {
				c.username = w.changes.logins[i].username
			}
			if w.changes.logins[i].password != nil {
				c.password = w.changes.logins[i].password
			}
		}
		if w.s.e.creds == nil {
			continue
		}
		if err := w.s.e.creds.Set(ctx, w.tx, c.member, c.username, c.password); err != nil {
			return fmt.Errorf("set login of %s: %w", c.typ, err)
		}
		w.s.loginsChanged = true
	}
	return nil
}
