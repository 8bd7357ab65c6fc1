package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

// filledAudit is the id of the audit that is written last. If it exists, a kept database is
// complete.
const filledAudit = 1000

var assetColumns = strings.Fields(`id type state moment audit_id created_moment created_at created_by changed_at changed_by
	name number description scope_id parent_id super_id timebox_id status_id priority_id order_key estimate begin_date end_date attrs`)

var description = strings.Repeat("as a member I want to know what was changed ", 5)

// fill writes all rows and analyzes the tables, unless an earlier run has done so.
func (s *store) fill(ctx context.Context, l *layout, out io.Writer) error {
	done, err := s.filled(ctx)
	if err != nil || done {
		return err
	}
	start := time.Now()
	steps := []func(context.Context, *layout) error{
		s.people, s.reader, s.tree, s.calendar, s.work, s.links, s.versions, s.activity, s.stamps, s.analyze, s.mark,
	}
	for _, step := range steps {
		if err := step(ctx, l); err != nil {
			return fmt.Errorf("fill the database: %w", err)
		}
	}
	fmt.Fprintf(out, "filled with %d assets of %d versions in %v\n", l.assets, l.versions, time.Since(start).Round(time.Second))
	return nil
}

// insert is rig.Insert on the database of the run.
func (s *store) insert(ctx context.Context, table string, columns []string, n int, row func(int) []any) error {
	return rig.Insert(ctx, s.DB, table, columns, n, row)
}

// asset returns a row of the table asset: the values that every asset has, then the given
// values, of which the first is for the column name.
func (l *layout) asset(id int64, typ, state int, values ...any) []any {
	made := began.UnixMicro()
	changed := at(l.versions - 1).UnixMicro()
	row := []any{
		id, typ, state, l.moment(id, l.versions-1), filledAudit, l.moment(id, 0), made, admin, changed, admin,
	}
	return append(row, values...)
}

func (s *store) people(ctx context.Context, l *layout) error {
	return s.insert(ctx, "asset", assetColumns, members, func(i int) []any {
		id := firstMember + int64(i)
		return l.asset(id, typeMember, active, fmt.Sprintf("Member %d", i), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
			fmt.Sprintf(`{"Nickname": "m%d", "Email": "m%d@example.com"}`, i, i))
	})
}

// roleTeamMember is the stored id of Role:4, which includes the right to read.
const roleTeamMember = 4 - 1000

// reader gives the first member a login, and roles in a part of the tree. It gives most other
// members a role in a scope that the reader sees.
func (s *store) reader(ctx context.Context, l *layout) error {
	_, err := s.DB.Exec(ctx, "INSERT INTO credential (member_id, username, folded, version, disabled) VALUES (?, ?, ?, 1, 0)", firstMember, readerName, readerName)
	if err != nil {
		return err
	}
	columns := []string{"scope_id", "member_id", "role_id", "is_owner", "since_moment", "until_moment"}
	grant := func(scope, member int64) []any {
		return []any{scope, member, roleTeamMember, 0, l.moment(member, 0), db.Forever}
	}
	err = s.insert(ctx, "scope_member", columns, len(held()), func(i int) []any { return grant(held()[i], firstMember) })
	if err != nil {
		return err
	}
	return s.insert(ctx, "scope_member", columns, members-100, func(i int) []any {
		return grant(readable()[(1+i)%len(readable())], firstMember+1+int64(i))
	})
}

func (s *store) tree(ctx context.Context, l *layout) error {
	err := s.insert(ctx, "asset", assetColumns, scopes, func(i int) []any {
		id := firstScope + int64(i)
		return l.asset(id, typeScope, active, fmt.Sprintf("Project %d", i), nil, description, id, scopeParent(i), nil, nil, nil, nil, nil, nil,
			began.UnixMicro(), nil, nil)
	})
	if err != nil {
		return err
	}
	err = s.insert(ctx, "asset", assetColumns, 1, func(int) []any {
		return l.asset(streamScope, typeScope, active, "The one with all the changes", nil, description, streamScope, 0, nil, nil, nil, nil, nil, nil,
			began.UnixMicro(), nil, nil)
	})
	if err != nil {
		return err
	}
	pairs := [][]any{{streamScope, streamScope, l.moment(streamScope, 0), db.Forever, 0}, {0, streamScope, l.moment(streamScope, 0), db.Forever, 1}}
	for i := range scopes {
		id := firstScope + int64(i)
		pairs = append(pairs, []any{id, id, l.moment(id, 0), db.Forever, 0})
		depth := 1
		for up := scopeParent(i); ; up = scopeParent(int(up - firstScope)) {
			pairs = append(pairs, []any{up, id, l.moment(id, 0), db.Forever, depth})
			if up == 0 {
				break
			}
			depth++
		}
	}
	columns := []string{"ancestor_id", "descendant_id", "since_moment", "until_moment", "depth"}
	return s.insert(ctx, "scope_closure", columns, len(pairs), func(i int) []any { return pairs[i] })
}

func (s *store) calendar(ctx context.Context, l *layout) error {
	return s.insert(ctx, "asset", assetColumns, timeboxes, func(i int) []any {
		first := began.AddDate(0, 0, i%365)
		return l.asset(firstTimebox+int64(i), typeTimebox, active, fmt.Sprintf("Sprint %d", i), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
			first.UnixMicro(), first.AddDate(0, 0, 14).UnixMicro(), nil)
	})
}

var prefixes = map[int]string{typeStory: "S", typeDefect: "D", typeTask: "TK", typeTest: "AT", typeEpic: "E"}

// rare is a word that only one item in 1,999 (needle) has in its name.
const (
	rare   = "zeppelin"
	needle = 1999
)

func (s *store) work(ctx context.Context, l *layout) error {
	statuses, priorities := []int64{133, 134, 135, 137}, []int64{138, 139, 140}
	return s.insert(ctx, "asset", assetColumns, len(l.items), func(i int) []any {
		it, id := l.items[i], l.id(i)
		var status, priority any
		if it.typ == typeStory || it.typ == typeDefect {
			status, priority = statuses[it.status], priorities[i%3]
		}
		name := fmt.Sprintf("Let the gardener order seeds of kind %d", i)
		if i%needle == 0 {
			name += " by " + rare
		}
		return l.asset(id, it.typ, it.state, name, fmt.Sprintf("%s-%05d", prefixes[it.typ], i), description,
			it.scope, null(it.parent), null(it.super), null(it.timebox), status, priority, it.order, it.estimate, nil, nil,
			fmt.Sprintf(`{"Reference": "REF-%d"}`, i))
	})
}

func null(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func (s *store) links(ctx context.Context, l *layout) error {
	var rows [][]any
	for i, it := range l.items {
		id := l.id(i)
		for _, m := range it.owners {
			rows = append(rows, []any{ownersRelation, it.typ, id, m, l.moment(id, 0), db.Forever})
		}
		for _, m := range it.former {
			rows = append(rows, []any{ownersRelation, it.typ, id, m, l.moment(id, 0), l.moment(id, l.versions/2)})
		}
	}
	columns := []string{"relation", "from_type", "from_id", "to_id", "since_moment", "until_moment"}
	return s.insert(ctx, "asset_link", columns, len(rows), func(i int) []any { return rows[i] })
}

// versions fills the table of versions. The database server copies the assets itself, because this is
// faster than sending the versions to it. Older versions have another name and estimate.
func (s *store) versions(ctx context.Context, l *layout) error {
	const most = 5_000
	step := int64(l.assets + firstItem)
	copied := `state, audit_id, created_moment, created_at, created_by, changed_at, changed_by, number, description,
		scope_id, parent_id, super_id, timebox_id, team_id, status_id, priority_id, source_id, category_id, order_key,
		todo, detail_estimate, value, begin_date, end_date, attrs`
	waves := "SELECT 0 AS n"
	for v := 1; v < l.versions; v++ {
		waves += fmt.Sprintf(" UNION ALL SELECT %d", v)
	}
	insert := `INSERT INTO asset_version (id, type, moment, until_moment, name, estimate, linked, ` + copied + `)
		SELECT STRAIGHT_JOIN a.id, a.type, ? + v.n * ? + a.id, IF(v.n = ?, ?, ? + (v.n + 1) * ? + a.id),
			IF(v.n = ?, a.name, CONCAT(a.name, ', draft ', v.n)), a.estimate + ? - v.n, 1, ` + "a." + strings.Join(strings.Fields(copied), " a.") + `
		FROM asset a JOIN (` + waves + `) v WHERE a.id >= ? AND a.id < ?`
	last := l.versions - 1
	for from := int64(firstMember); from < l.id(len(l.items)); from += most {
		_, err := s.DB.Exec(ctx, insert, firstMoment, step, last, db.Forever, firstMoment, step, last, last, from, from+most)
		if err != nil {
			return err
		}
	}
	return nil
}

// stamps writes the time at which each wave of changes ended. In a wave, every asset gets one
// version.
func (s *store) stamps(ctx context.Context, l *layout) error {
	return s.insert(ctx, "moment_stamp", []string{"last_moment", "at"}, l.versions, func(v int) []any {
		return []any{l.wave(v+1) - 1, at(v).UnixMicro()}
	})
}

func (s *store) analyze(ctx context.Context, _ *layout) error {
	for _, table := range []string{"asset", "asset_version", "asset_link", "scope_closure", "moment_stamp", "audit"} {
		if _, err := s.DB.Exec(ctx, "ANALYZE TABLE "+table); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) mark(ctx context.Context, _ *layout) error {
	_, err := s.DB.Exec(ctx, `INSERT INTO audit (id, request_id, actor_id, at, first_moment, last_moment, generation, fan_state)
		VALUES (?, 'bench', ?, 0, 0, 0, 0, 1)`, filledAudit, admin)
	return err
}
