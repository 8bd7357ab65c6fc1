package trail

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
)

// Sight says which events a caller may read.
type Sight struct {
	All    bool
	Scopes []int64 // if All is false: stored ids of the projects whose events the caller may read
}

// Page is a page of events, the latest first.
type Page struct {
	Type     string `json:"_type"`
	PageSize int    `json:"pageSize"`
	Results  []View `json:"results"`
	Next     string `json:"next,omitempty"` // the cursor of the next page, if there is one
}

// View is an event as clients read it.
// Spec: interface 4.9.
type View struct {
	ID      string `json:"id"`
	At      string `json:"at"`
	Kind    Kind   `json:"kind"`
	Actor   string `json:"actor,omitempty"`
	Address string `json:"address,omitempty"`
	Member  string `json:"member,omitempty"`
	Project string `json:"project,omitempty"`
	Detail
	Count int    `json:"count"`
	Since string `json:"since,omitempty"` // time of the first of the counted events
}

// Events returns the events that match a query and that the caller may read.
// Errors: fault.Denied for a caller who administers nothing; fault.Invalid.
// Spec: interface 4.9.
func (l *Log) Events(ctx context.Context, may Sight, q Query) (Page, error) {
	page := Page{Type: "AuditEvent", Results: []View{}}
	if !may.All && len(may.Scopes) == 0 {
		return page, fault.Deniedf("The audit is for administrators")
	}
	s, err := l.read(q)
	if err != nil {
		return page, err
	}
	page.PageSize = s.size
	if !may.All {
		in, args := l.db.Dialect.IDs(may.Scopes)
		s.where(`scope_id IN `+in, args...)
	}
	query := `SELECT ` + strings.Join(columns, ", ") + ` FROM audit_trail`
	if len(s.conditions) > 0 {
		query += ` WHERE ` + strings.Join(s.conditions, ` AND `)
	}
	query += ` ORDER BY at DESC, id DESC LIMIT ?`
	var rows []row
	err = l.db.One(ctx, func(q db.Querier) (err error) {
		rows, err = db.Collect(ctx, q, query, append(s.args, int64(s.size)+1), scan)
		return err
	})
	if err != nil {
		return page, err
	}
	if len(rows) > s.size {
		rows = rows[:s.size]
		page.Next = rows[s.size-1].place().String()
	}
	for i := range rows {
		page.Results = append(page.Results, l.view(&rows[i]))
	}
	return page, nil
}

func (r *row) place() place { return place{r.at, r.id} }

func scan(from db.Scanner) (r row, err error) {
	var kind string
	var address, detail sql.NullString
	var actor, member, first sql.NullInt64
	if err := from.Scan(&r.at, &r.id, &kind, &actor, &address, &member, &r.Project, &r.Count, &first, &detail); err != nil {
		return r, err
	}
	r.Kind, r.Actor, r.Address, r.Member, r.first = Kind(kind), actor.Int64, address.String, member.Int64, first.Int64
	if detail.Valid {
		if err := json.Unmarshal([]byte(detail.String), &r.Detail); err != nil {
			return r, fmt.Errorf("read the detail of an audit event: %w", err)
		}
	}
	return r, nil
}

func (l *Log) view(r *row) View {
	v := View{ID: r.place().String(), At: instant(r.at), Kind: r.Kind, Address: r.Address, Detail: r.Detail, Count: r.Count}
	if r.Actor != 0 {
		v.Actor = l.shown("Member", r.Actor)
	}
	if r.Member != 0 {
		v.Member = l.shown("Member", r.Member)
	}
	if r.Project != nil {
		v.Project = l.shown("Scope", *r.Project)
	}
	if r.first != 0 {
		v.Since = instant(r.first)
	}
	return v
}

func instant(micros int64) string { return string(value.AppendInstant(nil, micros)) }
