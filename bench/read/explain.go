package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
)

// explainer forwards statements and records them.
type explainer struct {
	db.Querier
	asked []statement
}

type statement struct {
	sql  string
	args []any
}

// Query records a statement and runs it.
func (e *explainer) Query(ctx context.Context, query string, args ...any) (*db.Rows, error) {
	e.asked = append(e.asked, statement{query, args})
	return e.Querier.Query(ctx, query, args...)
}

// QueryRow records a statement and runs it.
func (e *explainer) QueryRow(ctx context.Context, query string, args ...any) *db.Row {
	e.asked = append(e.asked, statement{query, args})
	return e.Querier.QueryRow(ctx, query, args...)
}

// explain prints the statements of both sides and their query plans.
func explain(ctx context.Context, d *db.DB, rows []work, out io.Writer) error {
	finder := find.New(d, meta.Default())
	for _, w := range rows {
		fmt.Fprintf(out, "\n## %s\n", w.name)
		e := &explainer{Querier: d}
		if w.url == nil {
			if err := w.find(ctx, finder, e); err != nil {
				return err
			}
		}
		if err := e.print(ctx, out, "alds"); err != nil {
			return err
		}
		if w.floor == nil {
			continue
		}
		e = &explainer{Querier: d}
		if _, err := w.floor(ctx, e, 0, nil); err != nil {
			return err
		}
		if err := e.print(ctx, out, "floor"); err != nil {
			return err
		}
	}
	return nil
}

// find runs the query of the first variant in the same way as the service.
func (w work) find(ctx context.Context, f *find.Finder, q db.Querier) error {
	who := auth.System
	if w.reader {
		who = auth.Actor{Member: firstMember, Scopes: readable()}
	}
	if w.path != nil {
		path, params, _ := strings.Cut(w.path(0), "?")
		values, err := url.ParseQuery(params)
		if err != nil {
			return err
		}
		r, err := query.FromParams(query.AddressOf(path), values)
		if err != nil {
			return err
		}
		_, err = f.Assets(ctx, q, who, r, encode.Form{}, nil)
		return err
	}
	nodes, err := document.Parse([]byte(w.body(0)), false)
	if err != nil {
		return err
	}
	requests, err := query.FromDocs(nodes)
	if err != nil {
		return err
	}
	_, err = f.Rows(ctx, q, who, requests[0], nil)
	return err
}

func (e *explainer) print(ctx context.Context, out io.Writer, who string) error {
	for _, s := range e.asked {
		fmt.Fprintf(out, "\n%s: %s\n    %v\n", who, strings.Join(strings.Fields(s.sql), " "), s.args[:min(len(s.args), 12)])
		if err := e.plan(ctx, out, s); err != nil {
			return err
		}
	}
	return nil
}

// plan prints the rows of EXPLAIN, without columns that are NULL. It needs FORMAT=TRADITIONAL,
// because MySQL otherwise does not return rows.
func (e *explainer) plan(ctx context.Context, out io.Writer, s statement) error {
	rows, err := e.Querier.Query(ctx, "EXPLAIN FORMAT=TRADITIONAL "+s.sql, s.args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]*string, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		fmt.Fprint(out, "    ")
		for i, v := range values {
			if v != nil && *v != "" && names[i] != "possible_keys" {
				fmt.Fprintf(out, "%s=%s ", names[i], *v)
			}
		}
		fmt.Fprintln(out)
	}
	return rows.Err()
}
