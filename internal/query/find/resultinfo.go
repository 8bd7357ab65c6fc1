package find

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
)

// Answer does what Rows does. It also returns the result info of r: the cursor of the next page,
// the total, and the plan. info is nil if r requests none of these.
// Shape: {"next":"WyI5Yz…","total":12,"explain":[{"sql":"SELECT …","plan":[{"table":"t0"}]}]}; next
// is null on the last page.
// Errors: as Rows; fault.Denied if a member who is not an administrator requests the plan.
func (f *Finder) Answer(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, w []byte) (rows, info []byte, err error) {
	if r.Explain && !who.Admin {
		return w, nil, fault.Deniedf("explain is for system administrators")
	}
	start := len(w)
	err = f.execute(ctx, q, who, r, func(ctx context.Context, x *executor) (err error) {
		if w, err = x.rows(ctx, w[:start]); err != nil {
			return err
		}
		info, err = x.resultInfo(ctx, r)
		return err
	})
	return w, info, err
}

// HasResultInfo reports whether r requests result info. The info is complete only after the rows
// have been read.
func HasResultInfo(r query.Request) bool {
	return r.Total || r.Explain || r.Page != nil && r.Page.After != nil
}

// JoinResultInfo returns the JSON list of the result info of several results; nil if none has
// any.
func JoinResultInfo(results [][]byte) []byte {
	if !slices.ContainsFunc(results, func(r []byte) bool { return r != nil }) {
		return nil
	}
	b := []byte{'['}
	for i, r := range results {
		if i > 0 {
			b = append(b, ',')
		}
		if r == nil {
			r = []byte("{}")
		}
		b = append(b, r...)
	}
	return append(b, ']')
}

// resultInfo returns the result info of r, whose rows have been read.
func (x *executor) resultInfo(ctx context.Context, r query.Request) ([]byte, error) {
	if !HasResultInfo(r) {
		return nil, nil
	}
	cursor := r.Page != nil && r.Page.After != nil
	b := []byte{'{'}
	name := func(s string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), s...), '"', ':')
	}
	if cursor {
		name("next")
		if x.more && x.last != nil {
			b = value.AppendString(b, x.plan.Cursor(x.last))
		} else {
			b = append(b, "null"...)
		}
	}
	if r.Total {
		n, err := x.total(ctx)
		if err != nil {
			return nil, err
		}
		name("total")
		b = strconv.AppendInt(b, n, 10)
	}
	if r.Explain {
		steps, err := x.explain(ctx)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(steps)
		if err != nil {
			return nil, err
		}
		name("explain")
		b = append(b, text...)
	}
	return append(b, '}'), nil
}

// explained describes how the database executes one statement.
type explained struct {
	SQL  string           `json:"sql"`
	Plan []map[string]any `json:"plan"` // one for each table, in the database's own words
}

// explainVerbs has the beginning of an EXPLAIN statement for each dialect. MySQL's default format
// is a tree. TRADITIONAL is a table, which MariaDB also returns.
var explainVerbs = map[string]string{"mysql": "EXPLAIN FORMAT=TRADITIONAL ", "sqlite": "EXPLAIN QUERY PLAN "}

// explain returns the plans of the statements of a query: of the rows, of the branches, and of
// the total if it has its own statement. Branches are explained for a block of one parent.
func (x *executor) explain(ctx context.Context) ([]explained, error) {
	all := []sqlgen.Statement{x.page()}
	switch {
	case x.way == nothing && x.wantsTotal:
		all[0] = x.w.Total(x.plan)
	case x.wantsTotal && x.plan.Page != nil && !x.counts:
		all = append(all, x.w.Total(x.plan))
	}
	var add func(b *query.Body)
	add = func(b *query.Body) {
		for _, br := range b.Branches {
			var moments []int64
			if br.Moment != nil {
				moments = []int64{0}
			}
			all = append(all, x.w.Children(br, []int64{0}, moments))
			add(&br.Body)
		}
	}
	if !x.plan.Together {
		add(&x.plan.Body)
	}
	list := make([]explained, 0, len(all))
	for _, st := range all {
		plan, err := x.explainOne(ctx, st)
		if err != nil {
			return nil, err
		}
		list = append(list, explained{SQL: st.SQL, Plan: plan})
	}
	return list, nil
}

func (x *executor) explainOne(ctx context.Context, st sqlgen.Statement) ([]map[string]any, error) {
	if err := st.Check(); err != nil {
		return nil, err
	}
	rows, err := x.q.Query(ctx, explainVerbs[x.f.d.Dialect.Name]+st.SQL, x.filled(st.Args)...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var plan []map[string]any
	for rows.Next() {
		cells := make([]any, len(names))
		for i := range cells {
			cells[i] = new(any)
		}
		if err := rows.Scan(cells...); err != nil {
			return nil, err
		}
		step := map[string]any{}
		for i, name := range names {
			v := *cells[i].(*any)
			if text, isBytes := v.([]byte); isBytes {
				v = string(text)
			}
			if v != nil && v != "" {
				step[name] = v
			}
		}
		plan = append(plan, step)
	}
	return plan, rows.Err()
}
