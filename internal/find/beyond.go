package find

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/sqlgen"
	"github.com/alds-dev/alds/internal/value"
)

// Answer does what Rows does and also returns what r asks about the result
// beside its rows: the cursor of the next page, the total, the plan. It is nil
// when r asks nothing.
// Shape: {"next":"WyI5Yz…","total":12,"explain":[{"sql":"SELECT …","plan":[{"table":"t0"}]}]};
// next is null on the last page.
// Errors: as Rows; fault.Denied when a member who is no administrator asks for
// the plan.
func (f *Finder) Answer(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, w []byte) (rows, beside []byte, err error) {
	if r.Explain && !who.Admin {
		return w, nil, fault.Deniedf("explain is for system administrators")
	}
	start := len(w)
	err = f.run(ctx, q, who, r, func(run *run) (err error) {
		if w, err = run.rows(w[:start]); err != nil {
			return err
		}
		beside, err = run.beside(r)
		return err
	})
	return w, beside, err
}

// Beside is the JSON list of what Answer returned beside each of some results;
// nil when nothing was asked of any.
func Beside(results [][]byte) []byte {
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

// beside answers what is asked beside the rows, which are read already.
func (run *run) beside(r query.Request) ([]byte, error) {
	if !HasBeside(r) {
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
		if run.more && run.last != nil {
			b = value.AppendString(b, run.plan.Cursor(run.last))
		} else {
			b = append(b, "null"...)
		}
	}
	if r.Total {
		n, err := run.total()
		if err != nil {
			return nil, err
		}
		name("total")
		b = strconv.AppendInt(b, n, 10)
	}
	if r.Explain {
		steps, err := run.explain()
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

// explained is how the database carries one statement out.
type explained struct {
	SQL  string           `json:"sql"`
	Plan []map[string]any `json:"plan"` // one for each table, in the database's own words
}

// explainVerbs ask each dialect for a plan; MySQL answers a bare EXPLAIN with a
// drawing, MariaDB with the table that both give when told to.
var explainVerbs = map[string]string{"mysql": "EXPLAIN FORMAT=TRADITIONAL ", "sqlite": "EXPLAIN QUERY PLAN "}

// explain asks how the statement of the rows and those of the branches are
// carried out; the branches for a block of one parent.
func (run *run) explain() ([]explained, error) {
	all := []sqlgen.Statement{run.page()}
	var add func(b *query.Body)
	add = func(b *query.Body) {
		for _, br := range b.Branches {
			var moments []int64
			if br.Moment != nil {
				moments = []int64{0}
			}
			all = append(all, run.w.Children(br, []int64{0}, moments))
			add(&br.Body)
		}
	}
	add(&run.plan.Body)
	list := make([]explained, 0, len(all))
	for _, st := range all {
		plan, err := run.explainOne(st)
		if err != nil {
			return nil, err
		}
		list = append(list, explained{SQL: st.SQL, Plan: plan})
	}
	return list, nil
}

func (run *run) explainOne(st sqlgen.Statement) ([]map[string]any, error) {
	rows, err := run.q.Query(run.ctx, explainVerbs[run.f.d.Dialect.Name]+st.SQL, run.filled(st.Args)...)
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
